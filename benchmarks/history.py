"""Histories of documents: speed and memory of reading, and detection of silent changes.

    python benchmarks/history.py [DOCUMENTS [COMMITS]]

Generates a repository: tables of 12 to 24 rows whose TFLOPs follow from their times. Most commits
add prose or a row, or measure a row again with all of its numbers. Some make a silent change at a
known place: a time without its TFLOPs, a value that is restored later, a deleted repeat of a
configuration, a number that is improved repeatedly. Each is searched among the events of `bench
history` and the findings of `bench audit --history`.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.audit.run import examined
from bench.decide.history import TIPS, history
from bench.decide.query import Query
from bench.ingest.files.pipeline import cores
from bench.ingest.files.stated_rows import stated_rows
from bench.project.read_history import read_history
from bench.schema.opening import open_read

DOCUMENTS, COMMITS = 100, 2_000
SEEDED = 0.15  # share of commits with a silent change
RULES = {"stale": "R13", "back": "R13b", "removed": "R13c", "best": "R13d"}
HEAD = ("| Nodes | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs | Notes |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | :--- |\n")  # fmt: skip
BEGIN, HOUR = 1_640_995_200, 3_600


@dataclass
class Line:
    """A row: its topology and its printed numbers."""

    nodes: int
    tp: int
    pp: int
    mbs: int
    time: float
    tflops: float
    note: str

    @property
    def text(self) -> str:
        dp = self.nodes * 8 // (self.tp * self.pp)
        topology = f"{self.nodes} | {dp} | {self.tp} | {self.pp} | {self.mbs}"
        return f"| {topology} | 1024 | {self.time:.2f} | {self.tflops:.1f} | {self.note} |"


@dataclass
class Made:
    """A document, and its rows reserved for silent changes."""

    number: int
    work: float
    lines: list[Line]
    prose: int = 0
    shift: bool = False
    taken: set[int] = field(default_factory=set)

    def text(self) -> str:
        words = "".join(f"Remark {n} of no weight.\n\n" for n in range(self.prose % 5))
        rows = "\n".join(line.text for line in self.lines)
        above = "Measured again.\n\n" if self.shift else ""
        return f"# Sweep {self.number}: 1.3B on V100 32GB\n\n{above}{words}{HEAD}{rows}\n"

    def measure(self, line: Line, seconds: float) -> None:
        """Measure a time, and the TFLOPs that follow."""
        line.time = round(seconds, 2)
        line.tflops = round(self.work / (line.time * line.nodes * 8), 1)


class Maker:
    """Makes commits, and records their silent changes: kind, document and key of the row."""

    def __init__(self, documents: int, seed: int) -> None:
        self.random = random.Random(seed)
        self.documents = [self._document(number) for number in range(documents)]
        self.seeded: list[tuple[str, str, str]] = []
        self.later: list[tuple[int, int, str, float]] = []  # commit, document, key, time

    def _document(self, number: int) -> Made:
        made = Made(number, self.random.uniform(4e4, 9e4), [])
        for nodes in (1, 2, 4, 8):
            for tp, pp in ((1, 1), (2, 1), (4, 1), (2, 2), (4, 2)):
                if self.random.random() < 0.8:
                    line = Line(nodes, tp, pp, self.random.choice((1, 2, 4)), 0, 0, "")
                    made.measure(line, made.work / (nodes * 8) / self.random.uniform(30, 60))
                    made.lines.append(line)
        return made

    def commits(self, count: int) -> Iterator[list[Made]]:
        """The documents that each commit touches."""
        yield self.documents
        for number in range(1, count):
            due = next((one for one in self.later if one[0] <= number), None)
            if due:
                self.later.remove(due)
                yield [self._put_back(*due[1:])]
            elif self.random.random() < SEEDED:
                yield [self._silent(number, self.random.choice(list(RULES)), count)]
            else:
                yield [self._plain()]

    def _free(self, made: Made) -> Line | None:
        free = [line for line in made.lines if id(line) not in made.taken and not line.note]
        chosen = self.random.choice(free) if free else None
        if chosen:
            made.taken.add(id(chosen))
        return chosen

    def _plain(self) -> Made:
        """A change that is not silent: prose, or a row measured again with all of its numbers."""
        made = self.random.choice(self.documents)
        free = [line for line in made.lines if id(line) not in made.taken]
        if self.random.random() < 0.3 or not free:
            made.prose += 1
        else:
            line = self.random.choice(free)
            made.taken.add(id(line))  # only once: repeated improvements are another kind
            made.measure(line, line.time * self.random.uniform(0.9, 1.1))
        return made

    def _silent(self, number: int, kind: str, count: int) -> Made:
        made = self.random.choice(self.documents)
        line = self._free(made)
        if line is None or number > count - 200:
            return self._plain()
        key = f"{line.nodes}/{line.tp}/{line.pp}/{line.mbs}"
        uri = f"docs/{made.number:03d}_sweep.md"
        before = line.time
        if kind == "stale":
            line.time = round(line.time * self.random.choice((0.8, 0.9, 0.985, 1.15)), 2)
            made.shift = self.random.random() < 0.5  # the lines move in the same commit
        elif kind == "removed":
            twin = Line(line.nodes, line.tp, line.pp, line.mbs, 0, 0, "")
            made.measure(twin, line.time * 1.3)
            made.taken.add(id(twin))
            made.lines.insert(made.lines.index(line) + 1, twin)
            self.later.append((number + 40, made.number, "remove " + str(id(twin)), 0))
        elif kind == "back":
            made.measure(line, line.time * 1.2)
            self.later.append((number + 50, made.number, "set " + str(id(line)), before))
        else:
            for step in range(1, self.random.choice((3, 4, 5))):
                at = round(before * (1 - 0.03 * step), 2)
                self.later.append((number + 30 * step, made.number, "set " + str(id(line)), at))
        self.seeded.append((kind, uri, key))
        return made

    def _put_back(self, document: int, what: str, seconds: float) -> Made:
        made = self.documents[document]
        action, name = what.split(" ")
        line = next(line for line in made.lines if id(line) == int(name))
        if action == "remove":
            made.lines.remove(line)
        else:
            made.measure(line, seconds)
        return made


def write(folder: Path, documents: int, commits: int) -> Maker:
    """Write the repository with `git fast-import`."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    maker = Maker(documents, seed=1)
    import_ = subprocess.Popen(["git", "-C", str(folder), "fast-import", "--quiet"],
                               stdin=subprocess.PIPE)  # fmt: skip
    assert import_.stdin
    for number, touched in enumerate(maker.commits(commits)):
        head = f"commit refs/heads/main\ncommitter A <a@b> {BEGIN + number * HOUR} +0000\n"
        import_.stdin.write(f"{head}data 6\nChange\n".encode())
        for made in touched:
            data = made.text().encode()
            name = f"M 100644 inline docs/{made.number:03d}_sweep.md\ndata {len(data)}\n"
            import_.stdin.write(name.encode() + data + b"\n")
    import_.stdin.close()
    if import_.wait():
        raise SystemExit("git fast-import failed")
    return maker


def main(documents: int, commits: int) -> None:
    """Print speed, memory, and detected and missed changes."""
    with tempfile.TemporaryDirectory() as name:
        folder, db = Path(name, "repo"), Path(name, "repo", "bench.duckdb")
        maker = write(folder, documents, commits)
        texts = [document.text().encode() for document in maker.documents]
        began = time.process_time()
        for text in texts:
            stated_rows("a.md", text)
        parse_s = (time.process_time() - began) / len(texts)
        began, used = time.perf_counter(), _processor()
        summary = read_history(folder, db, processes=cores())
        wall, processor = time.perf_counter() - began, _processor() - used
        began = time.perf_counter()
        again = read_history(folder, db, processes=cores())
        known = time.perf_counter() - began
        who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        peak = max(resource.getrusage(one).ru_maxrss for one in who)
        size = statistics.mean(map(len, texts))
        print(
            f"{cores()} cores, load average {os.getloadavg()[0]:.1f}; {summary.commits} commits,"
            f" {summary.blobs} blobs of {size / 1024:.1f} KiB\n"
        )
        per_blob = processor / summary.blobs
        own = f"{cores() * summary.blobs / processor:.0f}"
        measured = {
            "blobs a second": f"{summary.blobs / wall:.0f}",
            f"the same, if {cores()} processors did nothing else": own,
            "processor time of a blob, relative to parsing": f"{per_blob / parse_s:.2f}",
            f"again, nothing new ({again.blobs} blobs)": f"{known:.2f} s",
            "peak of the largest process": f"{peak / 1024:.0f} MiB",
            "warehouse, a revision": f"{db.stat().st_size / summary.revisions / 1024:.1f} KiB",
        }
        print("| what | measured |\n| :-- | --: |")
        print("".join(f"| {name} | {value} |\n" for name, value in measured.items()))
        _found(db, maker)


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _key(settings: Mapping[str, str]) -> str:
    return "/".join(str(settings.get(name)) for name in ("nodes", "tp", "pp", "mbs"))


def _found(db: Path, maker: Maker) -> None:
    """Print for each kind of silent change how many the history and the audit have."""
    query = f"""SELECT t.uri, t.line, v.settings FROM ({TIPS}) t JOIN row_versions v
        ON v.history_id = t.history_id AND v.row_id = t.row_id AND v.until IS NULL"""
    with open_read(db) as warehouse:
        findings, _ = examined(warehouse, request="history")
        events = history(warehouse, Query()).rows
        keys = {(uri, line): _key(settings) for uri, line, settings in warehouse.rows(query)}
    flagged = {
        (finding.rule, cell.uri, keys.get((cell.uri, cell.line), ""))
        for finding in findings
        for cell in finding.cells
    }
    kinds = ("changed", "went")
    changed = {(event["uri"], _key(event["stated"])) for event in events if event["kind"] in kinds}
    print("| seeded | changes | in the history | found by the audit | missed | found elsewhere |")
    print("| :-- | --: | --: | --: | --: | --: |")
    for kind, rule in RULES.items():
        seeded = [(uri, key) for one, uri, key in maker.seeded if one == kind]
        found = {(uri, key) for one, uri, key in flagged if one == rule}
        hits, recorded = (sum(one in of for one in seeded) for of in (found, changed))
        missed, others = len(seeded) - hits, len(found - set(seeded))
        print(f"| {kind}, {rule} | {len(seeded)} | {recorded} | {hits} | {missed} | {others} |")
    counts = Counter(finding.rule for finding in findings if finding.rule not in RULES.values())
    print(f"\nOther findings: {dict(counts) or 'none'}")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    main(*(given + [DOCUMENTS, COMMITS][len(given) :]))
