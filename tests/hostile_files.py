"""Files that attack: made from a seed, of every kind that a command reads."""

# ruff: noqa: E501 (lines as they are printed)

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

SAMPLES = sorted((Path(__file__).parent.parent / "data").glob("[lt]*/*.[lm]*"))
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


def mutant(at: random.Random) -> bytes:
    """A sample of ours with lines swapped, cells replaced, and bytes changed."""
    lines = at.choice(SAMPLES).read_text("utf-8").split("\n")[:400]
    for _ in range(at.randrange(1, 25)):
        n, other = at.randrange(len(lines)), at.randrange(len(lines))
        cells = re.split(r"([|:=,()])", lines[n])
        cells[at.randrange(len(cells))] = at.choice(CELLS)
        lines[n] = at.choice(["".join(cells), lines[other], lines[n] * 9, lines[n][: other % 50]])
    data = bytearray("\n".join(lines).encode(errors="replace"))
    for _ in range(at.choice([0, 0, 3, 60])):
        data[at.randrange(len(data))] = at.randrange(256)
    return bytes(data)


def numbers(at: random.Random) -> bytes:
    """A table whose numbers are none that a run has."""
    odd = ["0", "-1", "1e308", "-1e308", "1e-320", "inf", "-inf", "nan", "2" * 18, "9" * 40, "0x7f",
           "1e400", "4294967296", "9223372036854775808", "½", "٣", "1/0", "0/0", "-0.0"]  # fmt: skip
    rows = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    for n in range(at.randrange(2, 9)):
        cells = ["1", "1.3B", str(2**n), "4", "1", "1", "1024", "50.5", "30.1", "20", "x", "V100"]
        for _ in range(at.randrange(1, 8)):
            cells[at.randrange(len(cells))] = at.choice(odd) + at.choice(["", "", "B", " GB", "%"])
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(["# 1.3B on 8 V100-32GB", "", *rows, ""]).encode()


def drawn(at: random.Random) -> bytes:
    """Tables of HTML, reStructuredText and LaTeX that span more than there is."""
    span = at.choice(["1", "0", "-1", "7", "65536", "1" * 30, "a"])
    head, cell = at.choice(HEADS), at.choice(CELLS)
    rows = f'<tr><td rowspan="{span}" colspan={span}>{cell}</td><td>1.3B</td><td>50.5</td></tr>'
    html = "<table><tr><th>" + "</th><th>".join(HEADS) + f"</th></tr>{rows * 9}"
    return at.choice([
        html + "</table>", html, "<table>" * at.choice([3, 5000]) + html,
        f"<table><tr><th colspan={span}>{head}{'</th><th>' * at.choice([1, 3000])}" + rows,
        f"+---+{'-' * 400}+\n| a | {head} |\n+===+{'=' * 400}+\n| {cell} | 1 |\n+---+" * 4,
        f".. csv-table:: {cell}\n   :header: {','.join(HEADS)}\n   :file: ../../../etc/passwd\n\n   1,2",
        f".. include:: /etc/passwd\n\n.. list-table::\n   :widths: {span}\n\n   * - {cell}\n     - 1\n",
        "\\begin{tabular}{" + "c" * at.choice([3, 9000]) + "}" + " & ".join(HEADS) + r" \\ \multicolumn{"
        + span + "}{c}{" + cell + r"} & \input{/etc/passwd} \\ \end{tabular}",
    ]).encode(errors="replace")  # fmt: skip


def settings(at: random.Random) -> bytes:
    """What stands beside a log: of W&B, DeepSpeed, an environment, a power meter, records."""
    huge = at.choice(
        ["1e999", "-1", "9" * 300, "NaN", "null", "[]", '"' + "9" * 40 + '"', "{}", "1e-9"]
    )
    cell = json.dumps(at.choice(CELLS))
    return at.choice([
        f'{{"train_batch_size": {huge}, "zero_optimization": {{"stage": {huge}}}, "x": {cell}}}',
        f"wandb_version: 1\nlr:\n  value: {huge}\nmodel:\n  value: {cell}\n? [a, b]\n: &x [*x]\n",
        f'{{"gpu": {cell}, "gpu_count": {huge}, "args": [{cell}, "--tensor-model-parallel-size", {cell}]}}',
        f"A=1\nB=2\nC=3\nWORLD_SIZE={huge}\nSLURM_NNODES={cell}\nHOME={cell}\n",
        f"timestamp, index, power.draw [W]\n2024/01/01 00:00:00.000, 0, {huge} W\n0000/99/99, {huge}, 1 W\n",
        f"JobID|JobName|ElapsedRaw|NNodes\n1|{cell}|{huge}|{huge}\n",
        f'{{"schema": "bench/run", "run": {{"tp": {huge}, "device": {cell}}}, "iterations": [{huge}]}}',
        f'{{"cells": [{{"cell_type": "markdown", "source": [{cell}, {huge}]}}], "nbformat": {huge}}}',
        f'{{"iteration": {huge}, "loss": {huge}, "step_time_s": {huge}}}\n' * 9,
    ]).encode(errors="replace")  # fmt: skip


def events(at: random.Random) -> bytes:
    """An event file of TensorBoard whose lengths and checksums are as they come."""
    made = b""
    for _ in range(at.randrange(1, 6)):
        body = at.choice(
            [b"\x1a\x0dbrain.Event:2", at.randbytes(40), b"\x2a\xff\xff\xff\xff\x0f", b""]
        )
        length = at.choice([len(body), len(body), 2**63 - 1, 2**40, 0])
        made += length.to_bytes(8, "little") + at.randbytes(4) + body + at.randbytes(4)
    return made


KINDS: tuple[Callable[[random.Random], bytes], ...] = (
    table, log, line, deep, archive, noise, script, tree, mutant, numbers, drawn, settings, events,
)  # fmt: skip
ENDS: dict[Callable[[random.Random], bytes], list[str]] = {
    table: [".md", ".md", ".csv", ".rst", ".log"], log: [".log", ".out", ".log.gz"],
    line: [".log", ".md", ".csv", ".txt"], deep: [".log", ".json", ".md", ".yaml"],
    archive: [".tar", ".tar.gz"], noise: [".log", ".md", ".tar", ".log.gz"], script: [".sh"],
    tree: [".yaml"], mutant: [".md", ".log", ".out", ".log.gz"], numbers: [".md", ".csv", ".log"],
    drawn: [".html", ".md", ".rst", ".tex"], events: [".tfevents.1.n1", ".tfevents.1.n1"],
    settings: [".json", ".yaml", ".txt", ".env", ".csv", ".ipynb", ".jsonl"],
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
