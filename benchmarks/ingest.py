"""Speed of ingest of logs into a warehouse file, relative to simpler work on the same machine.

    python benchmarks/ingest.py [CASE ...] [--scale 0.1] [--rounds 3]

Logs are generated in a temporary folder. Each round starts every process of a case once, in turn,
so that other load affects all alike. Printed are medians of whole processes and their ratio: wall
seconds, and processor seconds, which other load affects less; the peak is that of the largest
process. Cases: dense, noisy, mixed, drafted, many, arguments, real, known, memory; `--scale 1` is
1,000,000 steps, 1 GB of noise, 300,000 and 100,000 steps, 2,000, 500, 500 and 10,000 files, a log
of 4 GB.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from making import MEMORY, NOISE, OWN_STEP, SETUP, STEP
from measured import BENCH, ROOT, Spent, load, machine, spent

COLUMNS = {
    "segment": "INTEGER", "iteration": "BIGINT", "interval_length": "BIGINT", "line": "BIGINT",
    "step_time_s": "DOUBLE", "samples_per_s": "DOUBLE", "tflops": "DOUBLE",
    "consumed_samples": "BIGINT", "consumed_tokens": "BIGINT", "gbs": "INTEGER", "lr": "DOUBLE",
    "loss": "DOUBLE", "loss_scale": "DOUBLE", "grad_norm": "DOUBLE", "num_zeros": "DOUBLE",
    "skipped": "INTEGER", "nan": "INTEGER",
}  # fmt: skip
LOAD = f"""
import duckdb, sys
con = duckdb.connect(sys.argv[2])
query = "CREATE TABLE iterations AS FROM read_csv(?, header = true, columns = {COLUMNS})"
con.execute(query, [sys.argv[1]])
con.close()
"""
LOOP = r"""
import re, sys
WANTED = re.compile(
    r"iteration +(\d+)/ *(\d+) \| consumed samples: +(\d+) \|.*?"
    r"elapsed time per iteration \(ms\): ([\d.]+) \|.*?"
    r"lm loss: ([\d.E+-]+) \|.*?TFLOPs: ([\d.]+)"
)
count = 0
for line in open(sys.argv[1], encoding="utf-8"):
    found = WANTED.search(line)
    if found:
        count += 1
        [int(text) for text in found.groups()[:3]] + [float(text) for text in found.groups()[3:]]
print(count)
"""
ARGUMENTS = ("adam_beta", "bias_gelu_fusion", "distributed_backend", "hidden_size", "save_interval")
Process = tuple[str, list[str]]


def steps(count: int, seed: int = 1) -> Iterator[dict[str, float]]:
    """The values of a run, by step."""
    chance = random.Random(seed)
    for n in range(1, count + 1):
        ms = round(chance.uniform(215_000, 216_000), 1)
        yield {
            "n": n, "of": count, "samples": n * 2048, "tokens": n * 2048 * 2048, "ms": ms,
            "lr": chance.uniform(1e-6, 1e-5), "loss": chance.uniform(1.9, 2.1),
            "norm": chance.uniform(0.1, 0.2), "speed": 2048e3 / ms,
            "tflops": chance.uniform(145, 146),
        }  # fmt: skip


def dense(folder: Path, scale: float) -> list[Process]:
    """A log of only steps, compared with a CSV of their values and with a loop of `re`."""
    log, csv = folder / "dense.log", folder / "dense.csv"
    with log.open("w") as file, csv.open("w") as table:
        file.write(SETUP)
        table.write(",".join(COLUMNS) + "\n")
        for line, v in enumerate(steps(int(1_000_000 * scale)), 2):
            file.write(STEP.format(**v) + "\n")
            table.write(
                f"1,{v['n']},1,{line},{v['ms']}e-3,{v['speed']:.3f},{v['tflops']:.2f},{v['samples']},"
                f"{v['tokens']},2048,{v['lr']:.3E},{v['loss']:.6E},1.0,{v['norm']:.3f},0.0,0,0\n"
            )
    return [
        ("DuckDB loads a clean CSV", ["python", "-c", LOAD, str(csv), "NEW"]),
        ("a loop of `re`, 6 fields, stores nothing", ["python", "-c", LOOP, str(log)]),
        ("bench ingest", ["bench", "ingest", str(log), "--db", "NEW"]),
    ]


def noisy(folder: Path, scale: float) -> list[Process]:
    """One line in a hundred is a step."""
    log, chance = folder / "noisy.log", random.Random(2)
    size = 0
    with log.open("w") as file:
        file.write(SETUP)
        for values in steps(10**9):
            lines = [
                pattern.format(
                    a=chance.randrange(999), b=chance.randrange(9999), c=chance.randrange(8)
                )
                for pattern in itertools.islice(itertools.cycle(NOISE), 99)
            ]
            size += file.write("\n".join([STEP.format(**values), *lines]) + "\n")
            if size > scale * 1e9:
                break
    return [
        ("grep -c", ["grep", "-c", "elapsed time per iteration", str(log)]),
        ("bench ingest", ["bench", "ingest", str(log), "--db", "NEW"]),
    ]


def mixed(folder: Path, scale: float) -> list[Process]:
    """Steps with memory, timers and noise between them, compared with only the steps."""
    log, steps_file, chance = folder / "mixed.log", folder / "steps.log", random.Random(5)
    with log.open("w") as file, steps_file.open("w") as steps_only:
        for one in (file, steps_only):
            one.write(SETUP)
        for number, values in enumerate(steps(int(300_000 * scale))):
            line = STEP.format(**values) + "\n"
            steps_only.write(line)
            file.write(line)
            if number % 5 == 0:
                file.write(chance.choice(NOISE).format(a=number % 999, b=number, c=3) + "\n")
            if number % 10 == 3:
                file.write(MEMORY.format(n=number, mb=number % 1000) + "\n")
            if number % 20 == 0:
                file.write("time (ms) | forward-compute: 31.88 | optimizer: 50.66\n")
    return [
        ("bench ingest, only steps", ["bench", "ingest", str(steps_file), "--db", "NEW"]),
        ("bench ingest", ["bench", "ingest", str(log), "--db", "NEW"]),
    ]


def drafted(folder: Path, scale: float) -> list[Process]:
    """Steps of a trainer that no format knows, and the same steps as Megatron prints them."""
    own, known = folder / "unknown.log", folder / "megatron.log"
    with own.open("w") as file, known.open("w") as other:
        for v in steps(int(100_000 * scale)):
            file.write(OWN_STEP.format(**v) + "\n")
            other.write(STEP.format(**v) + "\n")
    return [
        ("bench ingest, as Megatron prints them", ["bench", "ingest", str(known), "--db", "NEW"]),
        ("bench ingest", ["bench", "ingest", str(own), "--db", "NEW"]),
    ]


def many(folder: Path, scale: float) -> list[Process]:
    """Logs of 20 to 500 KB: setup, warnings, steps with timers."""
    chance, made = random.Random(3), folder / "many"
    made.mkdir()
    for number in range(int(FILES["many"] * scale)):
        lines = [SETUP.strip()]
        for values in steps(int(chance.uniform(40, 900)), seed=number):
            lines += [
                STEP.format(**values),
                "time (ms) | forward-compute: 31.88 | optimizer: 50.66",
            ]
            if chance.random() < 0.2:
                lines.append(chance.choice(NOISE).format(a=1, b=2, c=3))
        (made / f"run{number:05d}.log").write_text("\n".join(lines) + "\n")
    return [
        ("find", ["find", str(made), "-type", "f", "-printf", "%s %T@\n"]),
        ("bench ingest", ["bench", "ingest", str(made), "--db", "NEW"]),
    ]


def arguments(folder: Path, scale: float) -> list[Process]:
    """Logs of 100 KB that begin like Megatron's, with 400 lines of arguments."""
    chance, made = random.Random(4), folder / "arguments"
    made.mkdir()
    for number in range(int(FILES["arguments"] * scale)):
        names = [f"{chance.choice(ARGUMENTS)}_{at}" for at in range(400)]
        lines = [f"{24 * '-'} arguments {24 * '-'}"]
        lines += [f"  {name} {(48 - len(name)) * '.'} {chance.randrange(9999)}" for name in names]
        lines.append(f"{20 * '-'} end of arguments {21 * '-'}")
        lines += [STEP.format(**values) for values in steps(200, seed=number)]
        (made / f"run{number:05d}.log").write_text(SETUP + "\n".join(lines) + "\n")
    return [
        ("find", ["find", str(made), "-type", "f", "-printf", "%s %T@\n"]),
        ("bench ingest", ["bench", "ingest", str(made), "--db", "NEW"]),
    ]


def real(folder: Path, scale: float) -> list[Process]:
    """Copies of the sample logs of data/: setup, arguments, timers, warnings, failures."""
    made, logs = folder / "real", sorted((ROOT / "data" / "logs").rglob("*.log"))
    made.mkdir()
    for number in range(int(FILES["real"] * scale)):
        content = logs[number % len(logs)].read_bytes()
        # Each copy has a line of its own: identical bytes would be skipped.
        (made / f"run{number:05d}.log").write_bytes(content + f"\ncopy {number}\n".encode())
    return [
        ("find", ["find", str(made), "-type", "f", "-printf", "%s %T@\n"]),
        ("bench ingest", ["bench", "ingest", str(made), "--db", "NEW"]),
    ]


def known(folder: Path, scale: float) -> list[Process]:
    """Unchanged files that are in the warehouse already."""
    made, db = folder / "known", folder / "known.duckdb"
    made.mkdir()
    for number in range(int(10_000 * scale)):
        values = next(steps(1, seed=number))
        (made / f"run{number:05d}.log").write_text(SETUP + STEP.format(**values) + "\n")
    run(["bench", "ingest", str(made), "--db", str(db)])
    return [
        ("find", ["find", str(made), "-type", "f", "-printf", "%s %T@\n"]),
        ("bench ingest, again", ["bench", "ingest", str(made), "--db", str(db)]),
    ]


def memory(folder: Path, scale: float) -> list[Process]:
    """A long log, for the peak of memory."""
    log = folder / "long.log"
    with log.open("w") as file:
        file.write(SETUP)
        for values in steps(int(4e9 * scale / 387)):
            file.write(STEP.format(**values) + "\n")
    half = folder / "half.log"
    with log.open("rb") as whole, half.open("wb") as file:
        for _ in range(os.path.getsize(log) // 2 >> 20):
            file.write(whole.read(1 << 20))
    return [
        ("bench ingest, half of it", ["bench", "ingest", str(half), "--db", "NEW"]),
        ("bench ingest", ["bench", "ingest", str(log), "--db", "NEW"]),
    ]


CASES: dict[str, Callable[[Path, float], list[Process]]] = {
    case.__name__: case
    for case in (dense, noisy, mixed, drafted, many, arguments, real, known, memory)
}


FILES = {"many": 2000, "arguments": 500, "real": 500}  # read per second


def run(words: list[str]) -> Spent:
    """Run a process and measure it; NEW is a warehouse that does not exist."""
    names = {"python": [sys.executable], "bench": [*BENCH, "-q"]}
    command = [*names.get(words[0], [words[0]]), *words[1:]]
    with tempfile.TemporaryDirectory() as name:
        return spent([word if word != "NEW" else f"{name}/new.duckdb" for word in command])


def measure(case: str, scale: float, rounds: int) -> list[str]:
    """The rows of a case: median seconds, their ratio to the first process, peak MiB."""
    with tempfile.TemporaryDirectory() as name:
        processes = CASES[case](Path(name), scale)
        taken: dict[str, list[Spent]] = {title: [] for title, _ in processes}
        for _ in range(rounds):
            for title, command in processes:
                taken[title].append(run(command))
    medians = {
        title: (
            statistics.median(one.wall for one in found),
            statistics.median(one.processor for one in found),
        )
        for title, found in taken.items()
    }
    base = medians[processes[0][0]]
    files = FILES.get(case, 0) * scale
    return [
        f"| {case} | {title}{_rate(files * (title == processes[-1][0]), wall)} |"
        f" {wall:.2f} | {wall / base[0]:.2f} |"
        f" {cpu:.2f} | {cpu / max(base[1], 0.001):.2f} | {max(one.mib for one in taken[title])} |"
        for title, (wall, cpu) in medians.items()
    ]


def _rate(files: float, seconds: float) -> str:
    return f": {files / seconds:.0f} files a second" if files else ""


def main() -> None:
    """Measure, and print a markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if unknown := set(arguments.cases) - CASES.keys():
        parser.error(f"unknown case {', '.join(sorted(unknown))}: {', '.join(CASES)}")
    print(f"scale {arguments.scale:g}, {arguments.rounds} rounds, {load()}, {machine()}\n")
    print("| case | process | s | ratio | processor, s | ratio | peak, MiB |")
    print("| :-- | :-- | --: | --: | --: | --: | --: |")
    for case in arguments.cases or CASES:
        print("\n".join(measure(case, arguments.scale, arguments.rounds)), flush=True)


if __name__ == "__main__":
    main()
