"""Writers that wait go before readers that come later."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bench.schema import lock_queue
from bench.schema.lock_queue import QueueTurn
from bench.schema.opening import open_read, open_write

FOREVER_S = 60.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    open_write(tmp_path / "w.duckdb").close()
    return tmp_path / "w.duckdb"


def test_a_reader_waits_while_a_writer_is_in_line(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_queue, "_COURTESY_S", FOREVER_S)
    opened = threading.Event()

    def read() -> None:
        open_read(file, FOREVER_S).close()
        opened.set()

    reader = threading.Thread(target=read)
    with QueueTurn(file) as writer:
        writer.claim()
        reader.start()
        assert not opened.wait(0.5)
    reader.join(FOREVER_S)
    assert opened.is_set()


def test_a_reader_does_not_wait_longer_than_it_may(file: Path) -> None:
    with QueueTurn(file) as writer:
        writer.claim()
        open_read(file, 0).close()


def test_a_writer_steps_forward_when_a_reader_has_the_file(file: Path) -> None:
    claimed = threading.Event()
    began = QueueTurn.claim

    class Watched(QueueTurn):
        def claim(self) -> None:
            began(self)
            claimed.set()

    def write() -> None:
        open_write(file, FOREVER_S).close()

    code = f"import sys; from pathlib import Path; from bench.schema.opening import open_read\n\
w = open_read(Path({str(file)!r}), 5); print('open', flush=True); sys.stdin.read(); w.close()"
    reader = subprocess.Popen(
        [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout is not None and reader.stdin is not None
    assert reader.stdout.readline() == "open\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.schema.connect.QueueTurn", Watched)
        writer = threading.Thread(target=write)
        writer.start()
        assert claimed.wait(FOREVER_S)
        reader.stdin.close()
        writer.join(FOREVER_S)
    assert reader.wait() == 0 and not writer.is_alive()
    with QueueTurn(file) as later:
        assert not later._is_claimed()  # the place in line is given back


def test_a_killed_writer_is_no_longer_in_line(file: Path) -> None:
    code = f"import time; from pathlib import Path; from bench.schema.lock_queue import QueueTurn\n\
t = QueueTurn(Path({str(file)!r})); t.claim(); print('in line', flush=True); time.sleep(60)"
    writer = subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None and writer.stdout.readline() == "in line\n"
    with QueueTurn(file) as reader:
        assert reader._is_claimed()
        writer.kill()
        writer.wait()
        assert not reader._is_claimed()


def test_without_a_folder_to_lock_nobody_waits(tmp_path: Path) -> None:
    with QueueTurn(tmp_path / "gone" / "w.duckdb") as reader:
        reader.claim()
        reader.yield_to_writer(FOREVER_S)
