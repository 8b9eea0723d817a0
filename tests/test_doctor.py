"""What no format reads, by shape; and formats drafted for it, used to read the log."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.doctor.draft import draft
from bench.doctor.shapes import Shape, diagnose, shape_of
from bench.ingest.logs.dialect import Dialect, dialects, load
from bench.ingest.logs.lines import read_lines
from bench.ingest.logs.log import LogReader
from bench.ingest.logs.number_names import numbers_of
from bench.schema.errors import BenchError
from tests.making import log
from tests.program import quick

LINE = "step {n}/500 | loss: {loss:.2f} | dt: {ms:.1f}ms | tok/sec: {rate:,}, mfu 0.41 | lr 3.0e-04"


def own_log(folder: Path) -> Path:
    lines = [
        LINE.format(n=n, loss=3 - n / 100, ms=500 + n, rate=32_000 + n) for n in range(10, 90, 10)
    ]
    lines[4:4] = ["saving to /ckpt", "hello world", "AWS_SECRET_ACCESS_KEY=hunter2hunter2 is 7"]
    path = folder / "own.log"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("loss: 2.31 | lr 3.0e-04", "loss: # | lr #"),
        ("took 1,234.5 ms,  nan  -inf", "took # ms, # #"),
        ("layer3.bias v1.2 sm_80", "layer3.bias v1.2 sm_80"),
        ("512.4ms", "#ms"),
        ("", ""),
    ],
)
def test_a_shape_is_the_line_without_its_numbers(line: str, shape: str) -> None:
    assert shape_of(line) == shape


def test_the_telling_shapes_come_first(tmp_path: Path) -> None:
    own_log(tmp_path)
    done = quick(tmp_path, "doctor", "own.log", "--format", "csv")
    rows = done.out.splitlines()
    assert rows[0] == "shape,lines,type,first,text"
    assert rows[1].startswith("1,8,metrics,own.log:1,")
    assert len(rows) == 5 and "hunter2" not in done.text, "secrets are taken out"
    assert "11 lines: 0 read" in done.err and "--draft 1" in done.err


def test_a_draft_reads_the_log(tmp_path: Path) -> None:
    own_log(tmp_path)
    done = quick(tmp_path, "doctor", "own.log", "--draft", "1", "-o", "formats/mine.toml")
    assert done.code == 0, done.err
    (tmp_path / "bench.toml").write_text('formats = "formats"\n')
    assert quick(tmp_path, "ingest", "own.log").code == 0
    query = """SELECT iteration, step_time_s, loss, tokens_per_s, lr, mfu
               FROM iterations ORDER BY iteration LIMIT 1"""
    done = quick(tmp_path, "sql", query, "--format", "csv")
    assert done.out.splitlines()[1] == "10,0.51,2.9,32010.0,0.0003,0.41"
    done = quick(tmp_path, "doctor", "own.log")
    assert "11 lines: 8 read" in done.err and "loss" not in done.out


NAMES = {
    "step 1 took 0.24 min loss 1.5": {"step_time_s": "step_time_s", "loss": "loss"},
    "step 1 dt 1.5 ms loss 2": {"step_time_s": "step_time_s", "loss": "loss"},
    "step 1 1.5 s/step 1.9 steps/s": {"step_time_s": "step_time_s"},
    "step 1 elapsed 1s loss 1.5": {"elapsed": "more.elapsed", "loss": "loss"},
    "it 1 throughput: 81,813 tokens/sec | 113.0 TFLOP/s/GPU": {
        "tokens_per_s": "tokens_per_s", "tflops": "tflops",
    },
    "step 1 tps 55": {"tokens_per_s_per_device": "tokens_per_s_per_device"},
    "step 1 wall 0:01:07": {},
    '{"ts": 1711, "step": 1, "loss": 4.99, "step_time_ms": 500.0}': {
        "ts": "more.ts", "loss": "loss", "step_time_s": "step_time_s",
    },
    "epoch=0 batch=1/500 xent=4.99 toks/s=12.5": {
        "epoch": "more.epoch", "train_iters": "train_iters", "loss": "loss",
        "tokens_per_s": "tokens_per_s",
    },
    "step 1 step_ms=974.0": {"step_time_s": "step_time_s"},
    "step 1 seen_tokens 1.5M": {"seen_tokens": "more.seen_tokens"},
}  # fmt: skip


@pytest.mark.parametrize("line", NAMES)
def test_what_numbers_are_called(line: str) -> None:
    found = {n.group: n.column for n in numbers_of([line]) if n.column != "iteration"}
    assert found == NAMES[line]


def test_lines_together_tell_a_clock_and_the_step_that_counts() -> None:
    lines = [f"step {n % 3} gs {n} time {n * 3}s" for n in range(1, 7)]
    found = {n.column for n in numbers_of(lines)}
    assert found == {"more.step", "iteration", "more.time"}
    (step,) = (n for n in numbers_of(lines) if n.column == "iteration")
    assert step.place == 1


def test_a_draft_without_a_step_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("".join(f"part {n} loss {4 - n / 9:.3f}\n" for n in range(9)))
    done = quick(tmp_path, "doctor", "a.log", "--draft", "1")
    assert done.code == 0 and "# No number is named as a step" in done.out


def test_every_line_of_the_shape_is_read(tmp_path: Path) -> None:
    losses = ("NaN", "1.5", "-inf", "1e-3")
    lines = [f"rank{n % 2} Step {n}: Loss={loss}" for n, loss in enumerate(losses, 1)]
    (tmp_path / "a.log").write_text("\n".join(lines) + "\n")
    done = quick(tmp_path, "doctor", "a.log", "--draft", "1", "-o", "formats/a.toml")
    assert done.code == 0, done.err
    (tmp_path / "bench.toml").write_text('formats = "formats"\n')
    query = "SELECT iteration, loss, more FROM iterations ORDER BY iteration"
    done = quick(tmp_path, "sql", query, "a.log", "--format", "json")
    rows = json.loads(done.out)
    assert [row["loss"] for row in rows] == [None, 1.5, None, 0.001]
    assert rows[0]["more"] == {"loss": "NaN"}
    done = quick(tmp_path, "doctor", "a.log", "--draft", "1", "-o", "formats/a.toml")
    assert (done.code == 2 and "no unread lines" in done.err) or "already exists" in done.err


def test_lines_without_numbers_are_no_format(tmp_path: Path) -> None:
    own_log(tmp_path)
    done = quick(tmp_path, "doctor", "own.log", "--draft", "4")
    assert done.code != 0 and "cannot draft a format" in done.err
    done = quick(tmp_path, "doctor", "own.log", "--draft", "9")
    assert done.code == 2 and "no shape 9" in done.err and "4 unread shapes" in done.err


def test_a_log_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(log(5))
    done = quick(tmp_path, "doctor", "a.log")
    assert done.code == 0 and done.out == "" and "0 unread" in done.err
    assert quick(tmp_path, "doctor", "gone.log").code == 2
    (tmp_path / "empty.log").write_text("")
    assert "0 lines" in quick(tmp_path, "doctor", "empty.log").err


def without(name: str) -> tuple[Dialect, ...]:
    return tuple(one for one in dialects() if one.name != name)


STEPS = [
    (one, sample.line)
    for one in dialects()
    if one.reads == "iteration" and not one.secondary
    for sample in one.samples[:1]
]


@pytest.mark.parametrize(("own", "line"), STEPS, ids=[one.name for one, _ in STEPS])
def test_what_is_drafted_for_known_formats(tmp_path: Path, own: Dialect, line: str) -> None:
    """The draft for a line agrees with our own format wherever it names the same column."""
    log = tmp_path / "a.log"
    log.write_text(f"{line}\n{line}\n")
    found = diagnose([log], tmp_path, without(own.name), pytest.fail).shapes
    if not found:
        return  # another format reads it too
    try:
        text = draft(found[0], found[0].first, without(own.name))
    except BenchError as error:
        refusals = ("already match", "cannot draft", "does not match every line")
        assert any(why in str(error) for why in refusals)
        return
    (tmp_path / "drafted.toml").write_text(text)
    made = load(tmp_path / "drafted.toml")
    peeled = next(read_lines(io.BytesIO(log.read_bytes()))).text
    ours, theirs = own.read(peeled), made.read(peeled)
    assert ours and theirs
    # Only we can know that a count begins at zero.
    off = {"iteration": 1, "train_iters": 1, "loss": 0, "lr": 0, "grad_norm": 0}
    for column in off.keys() & theirs.fields.keys() & ours.fields.keys():
        wanted = pytest.approx(ours.fields[column], abs=off[column])
        assert theirs.fields[column] == wanted, column


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text("step los:=|/,. 0123456789naif-e'\"\\", max_size=60), max_size=6))
def test_no_line_breaks_the_doctor(lines: list[str]) -> None:
    known = without("none")[:5]
    shapes: dict[str, Shape] = {}

    def add(number: int, text: str) -> None:
        shape = shapes.setdefault(shape_of(text), Shape(shape_of(text), f"a:{number}"))
        shape.count += 1
        shape.lines.append(text)

    reader = LogReader("x", known, unread=add)
    for line in read_lines(io.BytesIO("\n".join(lines).encode())):
        reader.feed(line)
    reader.finish()
    for shape in shapes.values():
        try:
            assert re.search("^reads = ", draft(shape, "a:1", known), re.M)
        except BenchError:
            assert not shape.measures or shape.text


def test_lines_of_numbers_alone_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("begin\n1,2.31,0.5\n2,2.30,0.6\n3,2.29,0.7\n")
    done = quick(tmp_path, "doctor", "a.log", "--draft", "1")
    assert done.code == 2 and "looks like CSV: use one group per column" in done.err


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_cells_are_called_as_their_head_calls_them(tmp_path: Path, separator: str) -> None:
    """A comma between cells parts no thousands: step 1,512 is two of them."""
    rows = [("step", "loss", "step_ms", "gpu"), *((n, 2.5, 512, 100) for n in range(1, 6))]
    text = "\n".join(separator.join(map(str, row)) for row in rows)
    (tmp_path / "a.log").write_text(f"reading data\n{text}\n")
    done = quick(tmp_path, "doctor", "a.log", "--draft", "1", "-o", "formats/mine.toml")
    assert done.code == 0, done.err
    (tmp_path / "bench.toml").write_text('formats = "formats"\n')
    assert quick(tmp_path, "ingest", "a.log").code == 0
    query = "SELECT iteration, loss, step_time_s, more['gpu'] AS gpu FROM iterations ORDER BY 1"
    done = quick(tmp_path, "sql", query, "--format", "csv")
    assert done.out.splitlines()[1] == "1,2.5,0.512,100"
    assert len(done.out.splitlines()) == 6
