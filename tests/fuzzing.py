"""Random logs, guided by coverage: `make fuzz`; what is found is a file in out/fuzz/found.

An input is a whole log, or, behind a byte, a line that is repeated without end. Nothing may raise,
be lost from the counts, give more rows than there is text, or take longer than its length allows.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["bench"]):
    from bench.ingest.files import accounting
    from bench.ingest.logs.dialect import dialects
    from bench.ingest.logs.lines import read_lines
    from bench.ingest.logs.log import LogReader
    from bench.schema.arrow import to_arrow

ROOT = Path(__file__).resolve().parent.parent
WINDOW = 6000  # bytes of a log that are one seed
REPEATED, WHOLE = b"\x00", b"\x01"
LONG = 12_000
LONGEST_S = 20.0  # of processor time, with counting in every branch; without it a tenth
ROWS_A_BYTE = 4


def one(data: bytes) -> None:
    """Read one input."""
    text = data[1:]
    if data[:1] == REPEATED:
        text = (text or b" ") * (LONG // max(1, len(text)))
    begun = time.process_time()
    reader = LogReader("fuzz", dialects())
    for line in read_lines(io.BytesIO(text)):
        reader.feed(line)
    log = reader.finish()
    accounting.read_jobs(text.decode("utf-8", "replace"))
    assert log.lines == log.lines_read + log.lines_known + log.lines_unread, "lines are lost"
    assert log.rows.count() <= 200 + ROWS_A_BYTE * len(text), "more rows than text"
    to_arrow(log.rows)
    taken = time.process_time() - begun
    assert taken < LONGEST_S, f"{taken:.1f} s for {len(text)} bytes"


def seeds(folder: Path) -> None:
    """Every sample line, and every log in windows, as the corpus to begin with."""
    folder.mkdir(parents=True, exist_ok=True)
    for dialect in dialects():
        for number, sample in enumerate(dialect.samples):
            line = sample.line.encode("utf-8", "replace")
            (folder / f"{dialect.name}-{number}").write_bytes(WHOLE + line + b"\n")
            (folder / f"{dialect.name}-{number}-long").write_bytes(REPEATED + line)
    logs = [*(ROOT / "data" / "logs").iterdir(), *(ROOT.parent / "shared" / "logs").rglob("*.*")]
    for path in sorted(logs):
        data = path.read_bytes()
        for start in range(0, min(len(data), 40 * WINDOW), WINDOW):
            seed = folder / f"{path.stem[:40]}-{start}"
            seed.write_bytes(WHOLE + data[start : start + WINDOW])


def main() -> None:
    """Fuzz for so many seconds."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "fuzz")
    asked = parser.parse_args()
    corpus, found = asked.out / "corpus", asked.out / "found"
    found.mkdir(parents=True, exist_ok=True)
    seeds(corpus)
    atheris.Setup(
        [
            sys.argv[0],
            str(corpus),
            f"-artifact_prefix={found}/",
            f"-max_total_time={asked.seconds}",
            "-max_len=16384",
            "-timeout=90",
            "-rss_limit_mb=1500",
            "-print_final_stats=1",
        ],
        one,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
