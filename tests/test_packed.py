"""A log that was packed when it was rotated is the log that it was: its runs stay, once."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from bench.ingest.files.folders import family, is_log_name, is_packed_log
from bench.ingest.files.pipeline import ingest
from bench.ingest.files.streams import unpacked
from bench.schema.opening import open_read
from bench.watch.follow import Follower
from tests.making import count, log
from tests.program import quick


def zstd(content: bytes) -> bytes:
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(content)
    return bytes(packed.getvalue())


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs" / "train.log"


def pack(file: Path, name: str) -> None:
    """What `gzip` and the like do: the packed file takes the place of the other."""
    target = file.with_name(name)
    target.write_bytes(PACKERS[target.suffix](file.read_bytes()))
    file.unlink()


def steps(db: Path) -> dict[str, tuple[str, int]]:
    """Run and number of iterations, by file."""
    query = "SELECT uri, run_id, count(*) FROM runs JOIN iterations USING (run_id) GROUP BY ALL"
    with open_read(db) as warehouse:
        return {uri: (run, number) for uri, run, number in warehouse.rows(query)}


def fresh(file: Path) -> dict[str, tuple[str, int]]:
    other = file.parent.parent / "fresh.duckdb"
    ingest([file.parent], other)
    return {uri: ("", number) for uri, (_, number) in steps(other).items()}


def test_names() -> None:
    names = ["a.log.gz", "a.log.1.gz", "a-20261120.log.xz", "a.out.2.bz2", "train.gz"]
    assert all(is_packed_log(Path(name)) and not is_log_name(name) for name in names)
    assert not any(map(is_packed_log, map(Path, ("a.log.tar.gz", "a.log.1", "a.csv.gz", "gz"))))
    assert [*map(family, names[:4])] == ["a.log", "a.log", "a.log", "a.out"]


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("longer", [0, 9])
def test_a_log_that_is_rotated_and_packed(file: Path, db: Path, suffix: str, longer: int) -> None:
    file.write_text(log(40))
    ingest([file], db, live=True)
    run, _ = steps(db)["logs/train.log"]
    file.write_text(log(40 + longer))
    pack(file, f"train.log.1{suffix}")
    file.write_text(log(5, 250.0))
    assert ingest([file.parent], db).failed == []
    found = steps(db)
    assert {uri: number for uri, (_, number) in found.items()} == {
        "logs/train.log": 5, f"logs/train.log.1{suffix}": 40 + longer,
    }  # fmt: skip
    assert found[f"logs/train.log.1{suffix}"][0] == run
    assert ingest([file.parent], db).known == 2


def test_packed_logs_that_move_on_by_one(file: Path, db: Path) -> None:
    runs: dict[float, str] = {}
    for number, step_ms in enumerate((100.0, 110.0, 120.0, 130.0)):
        if number:
            for older in (2, 1):
                if (one := file.with_name(f"train.log.{older}.gz")).exists():
                    one.rename(file.with_name(f"train.log.{older + 1}.gz"))
            pack(file, "train.log.1.gz")
        file.write_text(log(10, step_ms))
        ingest([file.parent], db)
        runs[step_ms] = steps(db)["logs/train.log"][0]
    names = ["logs/train.log.3.gz", "logs/train.log.2.gz", "logs/train.log.1.gz", "logs/train.log"]
    assert {name: run for name, (run, _) in steps(db).items()} == dict(
        zip(names, runs.values(), strict=True)
    )
    assert count(db, "iterations") == 40


def test_a_log_that_is_packed_later(file: Path, db: Path) -> None:
    file.with_name("train.log.1").write_text(log(30))
    file.write_text(log(5, 250.0))
    ingest([file.parent], db)
    run, _ = steps(db)["logs/train.log.1"]
    pack(file.with_name("train.log.1"), "train.log.1.gz")
    ingest([file.parent], db)
    assert steps(db)["logs/train.log.1.gz"] == (run, 30)
    assert {uri: number for uri, (_, number) in steps(db).items()} == {
        uri: number for uri, (_, number) in fresh(file).items()
    }
    done = quick(db.parent, "show", "logs/train.log.1.gz:1")
    assert done.code == 0 and "iteration" in done.out, done.text


def test_a_packed_log_beside_what_it_was_made_of_is_no_other_log(file: Path, db: Path) -> None:
    file.write_text(log(30))
    plain = file.read_bytes()
    pack(file, "train.log.gz")
    file.write_bytes(plain)
    summary = ingest([file.parent], db)
    assert (summary.new, summary.copies) == (1, 1) and count(db, "runs") == 1
    alone = db.with_name("alone.duckdb")
    file.unlink()
    ingest([file.parent], alone)
    with open_read(alone) as warehouse:
        assert warehouse.rows("SELECT bytes, lines FROM sources") == [(len(plain), 30)]


def test_a_log_that_is_gone_after_both_were_seen(file: Path, db: Path) -> None:
    older = file.with_name("train.log.1")
    older.write_text(log(30))
    older.with_name("train.log.1.gz").write_bytes(gzip.compress(older.read_bytes()))
    file.write_text(log(5, 250.0))
    ingest([file.parent], db)
    run, _ = steps(db)["logs/train.log.1"]
    older.unlink()
    for _ in range(2):
        assert ingest([file.parent], db).known == 2
        assert steps(db)["logs/train.log.1.gz"] == (run, 30)
        assert count(db, "runs") == 2 == count(db, "sources")


@pytest.mark.parametrize("content", [b"", b"x", b"\n" * 9])
def test_small_packed_files(file: Path, db: Path, content: bytes) -> None:
    file.with_name("a.log.gz").write_bytes(gzip.compress(content))
    file.with_name("b.log.gz").write_bytes(gzip.compress(log(30).encode())[:12])
    summary = ingest([file.parent], db)
    assert [uri for uri, _ in summary.failed] == ["logs/b.log.gz"]
    assert "damaged" in summary.failed[0][1]


def overwritten(packed: bytes) -> bytes:
    """The bytes of a packed file, of which the second half are others."""
    middle = len(packed) // 2
    return packed[:middle] + b"\xff\xff" * (middle // 2)


def begun(packed: bytes) -> bytes:
    """So little of a packed file that nothing can be unpacked."""
    return packed[:20]


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("damaged", [overwritten, begun])
def test_a_damaged_file_ends_nothing(
    file: Path, db: Path, suffix: str, damaged: Callable[[bytes], bytes]
) -> None:
    file.write_text(log(30))
    content = b"".join(b"%d of a log: %d\n" % (n, n**5) for n in range(20_000))
    file.with_name(f"b.log{suffix}").write_bytes(damaged(PACKERS[suffix](content)))
    archive = file.with_name(f"c.tar{suffix}")
    archive.write_bytes(damaged(PACKERS[suffix](content)))
    told = dict(ingest([archive, file.parent], db).failed)
    assert set(told) == {f"logs/b.log{suffix}", f"logs/c.tar{suffix}"}
    assert all("damaged" in reason for reason in told.values())
    assert steps(db)["logs/train.log"][1] == 30


@pytest.mark.parametrize("given", ["logs", "logs/train.log"])
@pytest.mark.parametrize("before", [True, False])
def test_a_watched_log_that_is_packed(file: Path, db: Path, given: str, before: bool) -> None:
    """Between two looks it is rotated, and packed at once or after another look."""
    file.write_text(log(30))
    follower = Follower([db.parent / given], db, 5.0)
    follower.store()
    run, _ = steps(db)["logs/train.log"]
    file.write_text(log(33))
    file.rename(file.with_name("train.log.1"))
    file.write_text(log(4, 250.0))
    if before:
        follower.store()
    pack(file.with_name("train.log.1"), "train.log.1.gz")
    for _ in range(2):
        assert follower.store().failed == []
    assert follower.finish().failed == []
    assert steps(db)["logs/train.log.1.gz"] == (run, 33)
    assert {uri: number for uri, (_, number) in steps(db).items()} == {
        uri: number for uri, (_, number) in fresh(file).items()
    }


def gzip_named(name: bytes, content: bytes) -> bytes:
    plain = gzip.compress(content)
    return plain[:3] + b"\x08" + plain[4:10] + name + b"\0" + plain[10:]


def unzipped(data: bytes, *, whole: bool = True) -> bytes:
    return unpacked(io.BytesIO(data), "gzip", len(data), whole=whole).read()


def test_a_long_name_in_a_header_is_passed_over_soon() -> None:
    data = gzip_named(b"a" * (50 << 20), b"one\n")
    began = time.process_time()
    assert unzipped(data + b"\0\0" + data) == b"one\none\n"
    assert time.process_time() - began < 2


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 3_000_000])
def test_members_and_the_zeros_between_them_are_read_as_gzip_does(size: int) -> None:
    one = random.Random(size).randbytes(size) + b"x" * size
    for zeros in (0, 1, 1 << 17):
        data = gzip.compress(one) + bytes(zeros) + gzip_named(b"n", one) + bytes(zeros)
        assert unzipped(data) == gzip.decompress(data) == one * 2


def test_what_gzip_refuses_is_damaged() -> None:
    data = gzip.compress(b"content of a log\n" * 99)
    flipped = data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]
    for broken in (data[:-1], data[:40], data + b"more", flipped, data[:10], data + data[:4]):
        with pytest.raises(OSError, match="damaged"):
            unzipped(broken)
    assert unzipped(data[:-1], whole=False) == b"content of a log\n" * 99
