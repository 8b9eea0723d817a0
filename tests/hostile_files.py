"""Files that attack: made from a seed, of every kind that a command reads."""

from __future__ import annotations

import gzip
import io
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

CELLS = (
    "\x1b]52;c;ZXZpbA==\x07", "\x1b[2J\x1b[31m", "\u202edlrow\u202c", "::error file=a::b",
    "##[add-matcher]a.json", "##vso[task.setvariable]a", "=cmd()", "<script>x</script>", "![i](x)",
    "$\\frac{1}$", "$x", "*" * 60, "`" * 40, "[" * 40, "~" * 33, "(" * 50, "1" * 5000, "1e999",
    "1,234," * 40, "-" * 300, "9" * 400 + "B", "nan", "1/0", "\x00", "\x9b1m", "| a", "\\", "\\|",
    "{{ 7*7 }}", "{% include '/etc/passwd' %}", "'; DROP TABLE runs; --", "a\tb", "0.1 " * 900,
    "::stop::", "\u2028::error::x", "1 ± " * 50, "TP=1 " * 300, "<!-- bench:begin report=days -->",
    "<!-- bench-audit: ok R1 " + " " * 3000, "é" * 40, "\U000e0001", "10:" * 90, "../" * 20,
)  # fmt: skip
NAMES = (
    "plain", "=cmd() q", "-rf", "a\nb::error::x", "\x1b[31m", "\u202egol", "::error::y", "a|b`c",
    "<b>", "$x", "%s%n", "_" * 120, "'q'", '"q"', "a:12", "é", "*", "[a]", "{{x}}", "##[group]z",
)  # fmt: skip
HEADS = ("Nodes", "Size", "DP", "TP", "PP", "MBS", "GBS", "Sec/it", "TFLOPs", "Mem", "Notes", "GPU")
STEP = (
    " iteration {n:8d}/     100 | consumed samples: {s} | elapsed time per iteration (ms): {ms} |"
    " learning rate: 1.000E-03 | global batch size: {gbs} | lm loss: {loss} | loss scale: 1.0 |"
    " number of skipped iterations: 0 | number of nan iterations: 0 | {more}\n"
)


def table(at: random.Random) -> bytes:
    rows = [f"# 1.3B {at.choice(CELLS)} on 8 V100-32GB\n", f"| {' | '.join(HEADS)} |",
            f"|{'---|' * len(HEADS)}"]  # fmt: skip
    for n in range(at.randrange(1, 9)):
        cells = ["1", "1.3B", str(2**n), "4", "1", "1", "1024", "50.5", "30.1", "20", "x", "V100"]
        for _ in range(at.randrange(3)):
            cells[at.randrange(len(cells))] = at.choice(CELLS).replace("\n", " ")
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, "", at.choice(CELLS) * at.choice([1, 1, 40])]).encode(errors="replace")


def log(at: random.Random) -> bytes:
    text = "using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1\n"
    text += f"  model_name ............ {at.choice(CELLS)}\n"
    for n in range(1, at.randrange(2, 40)):
        bad = at.random() < 0.3
        text += STEP.format(
            n=n if not bad else at.choice([n, 10**12, 10**40]), s=8 * n,
            ms=at.choice(CELLS) if bad else "70.1", gbs=8, loss="5.5E+00",
            more=at.choice(CELLS) if bad else "",
        )  # fmt: skip
    text += at.choice(["", "Traceback (most recent call last):\nRuntimeError: "]) + at.choice(CELLS)
    return text.encode(errors="replace")


def line(at: random.Random) -> bytes:
    """One of some length, of what repeats of patterns take."""
    front = at.choice(["", "iteration 1/ 2 | ", "{'loss': ", "step: 1 ", "| a | b |\n|-|-|\n| "])
    parts = ["0", " ", "a ", "a=1 ", "1.", "|", "[", "{", "(", "0:", "-", "\\", "iteration ", "\t"]
    return (front + at.choice(parts) * at.choice([2000, 20_000])).encode()


def deep(at: random.Random) -> bytes:
    opening, closing = at.choice([("[", "]"), ('{"a":', "}"), ("(", ")"), ("> ", ""), ("- ", "")])
    depth = at.choice([40, 3000, 90_000])
    return (opening * depth + "1" + closing * depth).encode()


def archive(at: random.Random) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=at.choice([1, 2])) as made:
        for name in (f"{at.choice(NAMES)}.log".encode(), b"\xff\xfe.log", b"../../x.md"):
            member = tarfile.TarInfo(os.fsdecode(name).replace("\x00", ""))
            content = at.choice(KINDS[:3])(at)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
        member = tarfile.TarInfo("fifo.log")
        member.type = at.choice([tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.SYMTYPE])
        member.linkname = "/dev/zero"
        made.addfile(member)
    data = bytearray(buffer.getvalue())
    for _ in range(at.randrange(4)):
        data[at.randrange(len(data))] = at.randrange(256)
    return bytes(data[: at.randrange(600, len(data))] if at.random() < 0.2 else data)


def noise(at: random.Random) -> bytes:
    return at.randbytes(at.randrange(5000))


def script(at: random.Random) -> bytes:
    output = "%x" * 12 + "q" + at.choice(CELLS).replace("\n", "")
    return f"#!/bin/bash\n#SBATCH -o {output}\n#SBATCH -N {at.choice(CELLS)}\n".encode(
        errors="replace"
    )


def tree(at: random.Random) -> bytes:
    """YAML whose aliases unfold to more than there is, and hold nothing."""
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else '[], []'}]" for n in range(30)]
    return "\n".join(lines).encode()


KINDS: tuple[Callable[[random.Random], bytes], ...] = (
    table, log, line, deep, archive, noise, script, tree,
)  # fmt: skip
ENDS: dict[Callable[[random.Random], bytes], list[str]] = {
    table: [".md", ".md", ".csv", ".rst", ".log"], log: [".log", ".out", ".log.gz"],
    line: [".log", ".md", ".csv", ".txt"], deep: [".log", ".json", ".md", ".yaml"],
    archive: [".tar", ".tar.gz"], noise: [".log", ".md", ".tar", ".log.gz"], script: [".sh"],
    tree: [".yaml"],
}  # fmt: skip


def make(folder: Path, count: int, seed: int) -> None:
    """So many files, and links to what never ends."""
    at = random.Random(seed)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        end = at.choice(ENDS[kind])
        data = kind(at)
        if end.endswith(".gz"):
            data = gzip.compress(data)
        file = folder / f"d{number % 7}" / f"{number}{at.choice(NAMES)}{end}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
    for name, target in (("zero", "/dev/zero"), ("tty", "/dev/tty"), ("self", "."), ("gone", "x")):
        (folder / f"{name}.log").symlink_to(target)
    for name in ("pipe.log", "pipe.md", "pipe.tar", "facts.toml"):
        os.mkfifo(folder / name)
