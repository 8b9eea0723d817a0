"""A site for a browser: tables of data/, a long sweep, logs with a spike, and what is hostile."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

from tests.program import quick

# A document with one run and a failed one.
TABLE = """# Training of a 7B model on 8 H100 GPUs

| Model | GPUs | TP | MBS | GBS | Step time (s) | TFLOPs/GPU |
|---|---|---|---|---|---|---|
| 7B | 8 | 2 | 1 | 64 | 4.1 | 400 |
| 7B | 8 | 4 | 1 | 64 | 4.9 | OOM |
"""
SPIKE = 40.25  # seconds, of one step of thousands
STEPS, SPIKED = 5000, 777
PAYLOADS = (
    "<script>pwned=1</script>", "<img src=x onerror=pwned=1>", "\"'><svg onload=pwned=1>",
    "]]><b>", "&lt;script&gt;", "</script><script>pwned=1", "javascript:pwned=1",
    "{{ 7*7 }}{% raw %}", "\u202egnirts\u202c", "\u2066a\u2069\u2028b", "--><!--",
    "</title></style><style>*{}", "'; DROP TABLE runs; --", "${pwned=1}", "`pwned=1`",
    "%3Cscript%3E", "\u00e4\u65e5\u672c\u8a9e 1.234,5", "\u2007\u00a01\u202f234",
    "data:text/html,<script>", "<a href='//evil.example/'>",
)  # fmt: skip
# Each with a number of its own, so that one that vanished is known.
HOSTILE = [f"hostile{at:03d}" for at in range(100)]
HEADER = (
    "| Nodes | Size | DP | TP | PP | MBS | GBS | Mem | Sec/it | TFLOPs | Notes |\n|" + "---|" * 11
)
LINE = (
    " iteration {at:8d}/ {steps} | consumed samples: {samples:12d} | elapsed time per iteration "
    "(ms): {ms:.1f} | learning rate: 1.000E-04 | global batch size:   256 | lm loss: {loss:.6E} | "
    "loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations:   0 | "
    "number of nan iterations:   0 |\n"
)


def built(folder: Path) -> Path:
    """A folder with the site of a warehouse that was made for it."""
    root = folder / "results"
    shutil.copytree(Path(__file__).parent.parent / "data" / "tables", root / "tables")
    (root / ".git").mkdir()
    (root / "long.md").write_text(sweep("13B", 400))
    (root / "hostile.md").write_text(hostile(), "utf-8")
    (root / "<img src=x onerror=pwned=1>.md").write_text(sweep("2B", 8), "utf-8")
    (root / "train.log").write_text(log())
    (root / "again.log").write_text(log(slower=1.1))
    for command in (("ingest", "."), ("site", "-o", str(folder / "site"))):
        done = quick(root, "-q", *command)
        assert done.code == 0, done.text
    return folder / "site"


def sweep(label: str, rows: int) -> str:
    """A document with one table of so many set-ups; no two are alike."""
    setups = product((1, 2, 4, 8), (1, 2, 4), (4, 8, 16), (1, 2, 4, 8), (256, 512, 1024, 2048))
    lines = [
        f"| {max(1, tp * pp * dp // 8)} | {label} | {dp} | {tp} | {pp} | {mbs} | {gbs} "
        f"| {20 + at % 40}GB | {5 + (at * 37 % 997) / 10:.2f} | {40 + (at * 53 % 811) / 10:.2f} | |"
        for at, (tp, pp, dp, mbs, gbs) in zip(range(rows), setups, strict=False)
    ]
    return f"# Sweep\n\nSequence length 2048, A100 80GB\n\n{HEADER}\n" + "\n".join(lines) + "\n"


def hostile() -> str:
    """A document whose notes and headings try to be more than text; one line has a megabyte."""
    rows = [
        f"| {1 + at % 4} | 3B | 8 | 1 | 1 | 1 | {256 + at} | 20GB | {10 + at / 10} | 50 "
        f"| {name} {PAYLOADS[at % len(PAYLOADS)]} |"
        for at, name in enumerate(HOSTILE)
    ]
    head = ["# <script>pwned=1</script> 3B", "", "Sequence length 2048, A100 80GB", "", HEADER]
    return "\n".join([*head, *rows, "", "x" * 1_000_000, ""])


def log(slower: float = 1.0) -> str:
    """A log of Megatron-LM with a step that takes long."""
    return "".join(
        LINE.format(
            at=at, steps=STEPS, samples=at * 256, loss=8 - at / STEPS,
            ms=SPIKE * 1000 if at == SPIKED else (5000 + at % 7 * 11) * slower,
        )
        for at in range(1, STEPS + 1)
    )  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }
