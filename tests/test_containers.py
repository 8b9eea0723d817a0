"""Logs that another program has wrapped, cut or recoded are those of the lines in them."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from bench.ingest.files.containers import unwrapped
from bench.ingest.files.pipeline import ingest, ingest_into
from bench.ingest.kinds import is_of_docker
from bench.schema.opening import in_memory, open_read
from tests.making import iteration, log


def iterations(folder: Path, name: str, content: bytes) -> tuple[list[int], list[str]]:
    (folder / name).write_bytes(content)
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / name], folder)
        found = warehouse.rows("SELECT iteration FROM iterations ORDER BY line")
        said = warehouse.rows("SELECT code FROM warnings")
        return [number for (number,) in found], [code for (code,) in said]


@pytest.mark.parametrize("name", ["run.log", "run.txt"])
@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_a_log_of_powershell(tmp_path: Path, name: str, order: str) -> None:
    content = ("\ufeff" + log(5).replace("\n", "\r\n")).encode(order)
    assert iterations(tmp_path, name, content) == ([1, 2, 3, 4, 5], [])


def docker(*texts: str) -> bytes:
    lines = [{"log": text, "stream": "stdout", "time": f"2024-05-01T12:00:00.{n}23456789Z"}
             for n, text in enumerate(texts)]  # fmt: skip
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


def test_a_log_of_docker(tmp_path: Path) -> None:
    content = docker("starting\n", *[iteration(number) for number in range(1, 6)])
    assert iterations(tmp_path, "0123456789ab-json.log", content) == ([1, 2, 3, 4, 5], [])
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "0123456789ab-json.log"], tmp_path)
        [(line, at)] = warehouse.rows("SELECT line, printed_at FROM iterations WHERE iteration = 3")
    assert (line, str(at)) == (4, "2024-05-01 12:00:00.323456")


def test_lines_that_docker_cuts_stand_where_they_end(tmp_path: Path) -> None:
    text = iteration(1)
    content = docker(text[:40], text[40:90], text[90:], "the end\n")
    assert is_of_docker(content)
    lines = unwrapped(io.BytesIO(content)).read().split(b"\n")
    assert lines[:2] == [b"", b""] and lines[2].endswith(text.encode().strip(b"\n"))
    assert iterations(tmp_path, "x.log", content)[0] == [1]


@pytest.mark.parametrize("line", [b'{"log":"x"', b'{"log":1}', b'{"login":"x"}', b'[{"log":"x"}]'])
def test_other_objects_are_not_of_docker(line: bytes) -> None:
    assert not is_of_docker(line + b"\n")


def test_a_packed_log_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    whole = "".join(iteration(n, 100 + n * 7919 % 997 / 10) for n in range(1, 3001)).encode()
    packed = gzip.compress(whole)
    found, said = iterations(tmp_path, "run.log.gz", packed[: len(packed) // 2])
    assert 1000 < len(found) < 2900 and found == list(range(1, len(found) + 1))
    assert "cut_file" in said
    assert "cut_file" not in iterations(tmp_path, "whole.log.gz", packed)[1]


def test_a_live_log_is_stored_up_to_its_last_carriage_return(tmp_path: Path) -> None:
    file, db = tmp_path / "run.log", tmp_path / "bench.duckdb"
    bars = [f" 10%|#  | {n}/100 [00:0{n}<01:30,  1.00s/it]" for n in range(1, 5)]
    head = "***** Running training *****\n  Total optimization steps = 100\n"
    for shown in (2, 4):
        file.write_text(head + "\r".join(bars[:shown]) + "\r" + bars[3][:20])
        ingest([file], db, live=True)
        with open_read(db) as warehouse:
            assert warehouse.rows("SELECT max(iteration) FROM iterations") == [(shown,)]
