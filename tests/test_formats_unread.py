"""What looks like a measurement in `shared/logs` and is not read: each line with its reason."""

import re
import tomllib
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.lines import read_lines
from bench.ingest.logs.log import LogReader
from bench.vocabulary.measurement_lines import measures
from tests.real_logs import LOGS


@pytest.mark.parametrize(
    ("line", "looks"),
    [
        ("step 3 took 2.5 s", True),
        ("loss: nan", True),
        ("tokens per second", False),
        ("rank 3 of 8 is here", False),
        ("12 GiB of memory", True),
        ("losses_of_module_3", False),
    ],
)
def test_what_looks_like_a_measurement(line: str, looks: bool) -> None:
    assert measures(line) == looks


def keep(lines: list[str], number: int, line: str) -> None:
    lines.append(line)


@pytest.mark.slow
def test_every_line_that_is_not_read_is_explained(root: Path, shared: Path) -> None:
    text = (root / "tests" / "unread.toml").read_text("utf-8")
    reasons = [(re.compile(r["pattern"]), r["why"]) for r in tomllib.loads(text)["line"]]
    told: Counter[str] = Counter()
    for path in LOGS:
        unread: list[str] = []
        reader = LogReader("x", dialects(), unread=partial(keep, unread))
        with (shared / "logs" / path).open("rb") as stream:
            for line in read_lines(stream):
                reader.feed(line)
        read = reader.finish()
        if not read.runs:
            continue  # accounting: read by another reader
        found = [line for line in unread if measures(line)]
        assert len(found) == read.lines_measuring
        for one in found:
            why = next((why for pattern, why in reasons if pattern.search(one)), None)
            assert why, f"{path}: {one[:200]}"
            told[why] += 1
    for why, count in told.most_common():
        print(f"{count:5} {why}")
    assert set(told) == {why for _, why in reasons}
