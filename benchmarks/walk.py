"""The amount of code entered by a command, and the structure of the package.

    python benchmarks/walk.py [--json] [WALK ...]      # walks: ingest page explain runs static

A walk runs one command in its own process with `sys.setprofile`, and counts entered functions of
the package, their files, calls, and changes of control between files. Module bodies and
comprehensions are not functions. Processor seconds are of a second run without profiling. The
static counts are of Python outside of tests, data and benchmarks; an upward arrow is an import of a
room from one below it in ROOMS, a circle is a set of files, or of rooms, that import each other.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import io
import json
import os
import resource
import runpy
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parent.parent
LOG = "data/logs/fugaku_1proc.log"
DOCUMENT = "data/tables/004_tr3m-1B3.md"
WALKS = {
    "ingest": ("one small log into the warehouse", ["ingest", LOG, "--db", "one.duckdb"]),
    "page": ("a page of one document", ["report", DOCUMENT, "--format", "md"]),
    "explain": ("explain of one number", ["explain", "25.4", DOCUMENT]),
    "runs": ("bench runs FILE", ["runs", LOG]),
}
# From the top down: a room imports from later ones.
ROOMS = (
    "__main__.py", "cli.py", "commands", "ci", "__init__.py", "notebook", "terminal", "site",
    "watch", "launch", "claims", "explain", "reports", "foresight", "decide", "project", "audit",
    "doctor", "ingest", "records", "schema", "vocabulary", "trainer",
)  # fmt: skip
OUTSIDE = ("tests", "data", "benchmarks", "docs", "examples", "typings", "build", "out")
PRAGMAS = ("# fmt:", "# noqa", "# type:", "#!")

Row = dict[str, object]


def main() -> None:
    """Print the requested walks and counts as a markdown table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("walks", nargs="*", metavar="WALK", help=" ".join((*WALKS, "static")))
    parser.add_argument("--json", action="store_true", help="a list of objects")
    given = parser.parse_args()
    if unknown := set(given.walks) - {*WALKS, "static"}:
        parser.error(f"no walk: {', '.join(sorted(unknown))}")
    chosen = given.walks or [*WALKS, "static"]
    rows = [walk(name) for name in chosen if name in WALKS]
    counts = static() if "static" in chosen else []
    print(json.dumps(rows + counts, indent=2) if given.json else _tables(rows, counts))


def walk(name: str) -> Row:
    """Functions, files, calls, changes of file and processor seconds of one walk."""
    title, command = WALKS[name]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copytree(ROOT / "data", folder / "data")
        counts = folder / "counts.json"
        _run(folder, [__file__, TRACE, str(counts), *command])
        (folder / "one.duckdb").unlink(missing_ok=True)
        seconds = _run(folder, ["-m", "bench", *command])
        return {"walk": title, **json.loads(counts.read_text()), "cpu_s": round(seconds, 2)}


def _run(folder: Path, words: list[str]) -> float:
    """Processor seconds of a Python process in a folder; exits if it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "BENCH_DB"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{words}: exit {done.returncode}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


TRACE = "--trace"


def trace(result: Path, command: list[str]) -> None:
    """Run a command of bench in this process, and write the entered functions and files."""
    ours: dict[CodeType, str | None] = {}  # the file of a code object; None: not counted
    entered: set[CodeType] = set()
    counts: Counter[str] = Counter()
    here = ""

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal here
        if event != "call":
            return
        code = frame.f_code
        if code not in ours:
            ours[code] = _file_of(code)
        file = ours[code]
        if file is None:
            return
        entered.add(code)
        counts["calls"] += 1
        counts["changes of file"] += file != here
        here = file

    def write() -> None:
        sys.setprofile(None)
        files = {ours[code] for code in entered}
        found = {"functions": len(entered), "files": len(files), **counts}
        result.write_text(json.dumps(found))

    # The program ends by os._exit after running its exit hooks.
    atexit.register(write)
    sys.argv = ["bench", *command]
    threading.setprofile(profile)
    sys.setprofile(profile)
    runpy.run_module("bench", run_name="__main__")


def _file_of(code: CodeType) -> str | None:
    """The file of a function of our package; None for other code."""
    if code.co_name.startswith("<") and code.co_name != "<lambda>":
        return None
    # An editable install is found through the link typings/bench: resolve it.
    file = Path(code.co_filename).resolve()
    if not file.is_relative_to(ROOT):
        return None
    inside = file.relative_to(ROOT)
    return None if inside.parts[0].startswith(".") or inside.parts[0] in OUTSIDE else str(inside)


def static() -> list[Row]:
    """The counts of the whole package: each row has `count` and `value`."""
    files = sources()
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in files}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    lengths = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lines = sum(len(text.splitlines()) for text in texts.values())
    comments = sum(_comments(text) for text in texts.values())
    arrows = imports(trees)
    upward = sorted(_upward(arrows))
    room_arrows: dict[str, set[str]] = defaultdict(set)
    for one, others in arrows.items():
        room_arrows[room(one)] |= {room(other) for other in others} - {room(one)}
    values: dict[str, object] = {
        "files": len(files),
        "lines": lines,
        "functions": len(lengths),
        "lines of a function, median": statistics.median(lengths),
        "lines of a function, 90th percentile": statistics.quantiles(lengths, n=10)[-1],
        "lines of a function, most": max(lengths),
        "comments per 100 lines": round(100 * comments / lines, 2),
        "upward arrows between rooms": len(upward),
        "rooms with upward arrows": dict(
            Counter(f"{room(one)} -> {room(other)}" for one, other in upward)
        ),
        "circles of files": circles(arrows),
        "circles of rooms": circles(room_arrows),
    }
    return [{"count": name, "value": value} for name, value in values.items()]


def sources() -> list[str]:
    """The Python files of the package, relative to the root."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
    inside = (p for p in found if p.parts[0] not in OUTSIDE and not p.parts[0].startswith("."))
    return sorted(path.as_posix() for path in inside)


def room(file: str) -> str:
    """The top-level folder of a file; a file at the root is its own room."""
    return file.split("/")[0]


def imports(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """The files imported by each file, including imports in functions and for types."""
    return {file: set(_targets(file, tree, trees)) - {file} for file, tree in trees.items()}


def _targets(file: str, tree: ast.Module, known: Mapping[str, object]) -> Iterable[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = Path(file).parents[node.level - 1] / (node.module or "").replace(".", "/")
        for alias in node.names:
            # `from .x import y`: y is a module of x, or a name in it.
            places = (f"{base / alias.name}.py", f"{base}.py", (base / "__init__.py").as_posix())
            yield from [place for place in places if place in known][:1]


def _upward(arrows: Mapping[str, set[str]]) -> Iterable[tuple[str, str]]:
    for one, others in arrows.items():
        for other in others:
            if ROOMS.index(room(one)) > ROOMS.index(room(other)):
                yield one, other


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Cycles of imports: strongly connected components of at least two (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(one: str) -> None:
        index[one] = low[one] = len(index)
        stack.append(one)
        for other in sorted(arrows.get(one, ())):
            if other not in index:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], index[other])
        if low[one] == index[one]:
            at = stack.index(one)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for arrow in sorted(arrows):
        if arrow not in index:
            visit(arrow)
    return sorted(found)


def _comments(text: str) -> int:
    """Lines with a comment, except pragmas of tools."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(t.type == tokenize.COMMENT and not t.string.startswith(PRAGMAS) for t in tokens)


def _tables(rows: list[Row], counts: list[Row]) -> str:
    """The walks, then the counts, as markdown tables."""
    shown = [_table(rows, str)] if rows else []
    return "\n\n".join([*shown, *([_table(counts, _listed)] if counts else [])])


def _table(rows: list[Row], text: Callable[[object], str]) -> str:
    names = list(rows[0])
    body = [
        [f"{row[n]:,}" if isinstance(row[n], int) else text(row[n]) for n in names] for row in rows
    ]
    lines = [names, [":--", *["--:"] * (len(names) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(" <-> ".join(one) for one in value) or "none"
    return str(value)


if __name__ == "__main__":
    if sys.argv[1:2] == [TRACE]:
        trace(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
