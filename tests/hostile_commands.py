"""Commands over files that attack: what they may say and how they may end."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

from tests.program import environment

CODES = {0, 1, 2, 3, 4, 5, *range(10, 26)}  # from 10 on, the ways of a claim to be false
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
DEFECT = "bench failed to read it"  # contained, and still one to mend
MEMORY = 6 << 30  # bytes of address space, of which DuckDB takes much and uses little
COMMANDS = {
    "ingest": ["ingest ."],
    "report": [
        "report",
        "report --format html",
        "report runs",
        "report . --format md",
        "report -o o",
    ],
    "runs": ["runs --all --format table", "runs --all --format csv", "runs --all --format json"],
    "show": ["show 1"],
    "explain": ["explain 50.5", "explain 1"],
    "days": ["days --all", "days --format html"],
    "best": ["best", "best --suggest --format table"],
    "compare": ["compare --by tp", "compare --by notes --format html"],
    "chart": ["chart efficiency -o c.svg"],
    "failures": ["failures", "failures --format html"],
    "stragglers": ["stragglers"],
    "trend": ["trend step_time", "trend step_time --format html"],
    "scaling": ["scaling"],
    "audit": ["audit", "audit --format github", "audit . --format table"],
    "sql": ["sql 'FROM cells' --format table", "sql 'FROM warnings' --format csv"],
    "export": ["export -o e --format csv", "export --records r"],
    "forget": ["forget 1"],
    "diff": ["diff d0 d1 --format md"],
    "ci": ["ci config"],
    "doctor": ["doctor .", "doctor . --draft 1 --format table"],
    "launch": ["launch deep.toml --dry-run"],
    "db": ["db check"],
    "watch": ["watch . --once"],
    "site": ["site -o site", "site . -o pages"],
    "history": ["history", "report --as-of 2022-01-01"],
    "predict": ["predict --model 1.3B --nodes 4", "predict --all --format html"],
    "plan": ["plan --next 2"],
    "claim": ["claim 'best tokens_per_s for 1.3B' . -o claim.json"],
    "verify": ["verify claim.json .", "verify deep.toml ."],
    "merge": ["merge d0"],
}


def is_obeyed(line: str) -> bool:
    """Whether GitHub's runner takes a line of a log for a command, or Azure's, by their parsers."""
    first = line.strip()
    return (first.startswith("::") and "::" in first[2:]) or re.search(r"##\w*\[", line) is not None


def walked(folder: Path, line: str, seconds: int) -> None:
    """Run a command that must end in words, in time, and say nothing raw."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    done = subprocess.run(
        ["bash", "-c", f"exec {sys.executable} -m bench {line}"], cwd=folder, env=environment(),
        capture_output=True, stdin=subprocess.DEVNULL, timeout=8 * seconds, check=False,
        preexec_fn=limited,
    )  # fmt: skip
    out, err = done.stdout.decode(), done.stderr.decode()
    assert not re.search("^Traceback", err, re.M) and done.returncode in CODES, (
        f"{line}: {done.returncode}\n{err[-3000:]}"
    )
    assert DEFECT not in err, f"{line}\n{err[-3000:]}"
    for text in (out, err):
        assert not (raw := RAW.search(text)), (
            f"{line}: {text[max(0, raw.start() - 80) : raw.end() + 20]!r}"
        )
        if "--format github" not in line:
            assert not [one for one in text.split("\n") if is_obeyed(one)], line
