"""A shared warehouse compared with a file: processes that ingest, skip files, and print a page.

    python benchmarks/shared.py [ROUNDS [PATH...]]

Needs Debian's postgresql and the extra `lake`. PostgreSQL runs on loopback, directly and behind a
proxy that adds a millisecond to each round trip. Each command runs on every kind of warehouse in
turn; prints medians of wall and processor seconds, and their ratio to the file's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from multiprocessing import Process
from pathlib import Path

from measured import BENCH, ROOT, Spent, load, spent

PORT, SLOW = 15927, 15928
LATENCY_S = 0.001
PAGE = ["report", "--model", "1.3B", "--format", "md"]
Times = dict[tuple[str, str], list[tuple[float, float]]]


def main(rounds: int, inputs: list[str]) -> None:
    """Measure, and print a table in markdown."""
    with tempfile.TemporaryDirectory(prefix="bench-shared-") as name:
        base = Path(name)
        base.chmod(0o755)
        control("up", base / "server")
        proxy = Process(target=delay, daemon=True)
        proxy.start()
        try:
            times: Times = {}
            for number in range(rounds):
                one_round(base / str(number), inputs, times)
        finally:
            proxy.terminate()
            control("down", base / "server")
    print(f"medians of {rounds} rounds, {load()} on {os.cpu_count()} cores")
    print(table(times))


def control(word: str, base: Path) -> None:
    """Start or stop PostgreSQL with the script of the tests."""
    script = ROOT / "tests" / "services" / "postgres.sh"
    environment = {**os.environ, "PORT": str(PORT)}
    subprocess.run([script, word, base], env=environment, check=True, stdout=subprocess.DEVNULL)


def one_round(base: Path, inputs: list[str], times: Times) -> None:
    """Run every command on every kind, starting with an empty cache; compare pages."""
    base.mkdir()
    forms = {"file": f"{base}/bench.duckdb", "folder": f"folder:{base}/shelf"}
    for title, port in (("PostgreSQL", PORT), ("PostgreSQL, 1 ms", SLOW)):
        database = f"b{os.urandom(4).hex()}"
        at = ["-h", "127.0.0.1", "-p", str(PORT), "-U", "bench"]
        subprocess.run(["createdb", *at, database], check=True)
        forms[title] = f"ducklake:postgres:dbname={database} host=127.0.0.1 port={port} user=bench"
    for title, db in forms.items():
        data = ["--data", str(base / f"{title}.data")] if db.startswith("ducklake") else []
        run(base, title, db, ["db", "init", *data])
    pages = set()
    for word, args in (("ingest", ["ingest", "-q", *inputs]),
                       ("known files", ["ingest", "-q", *inputs]), ("page", PAGE)):  # fmt: skip
        for title, db in forms.items():
            took = run(base, title, db, args)
            times.setdefault((word, title), []).append((took.wall, took.processor))
            if word == "page":
                pages.add(took.output)
    assert len(pages) == 1, "pages differ"


def run(base: Path, title: str, db: str, args: list[str]) -> Spent:
    """A command with the warehouse `db` and a cache of its own."""
    cache = str(base / f"{title}.cache")
    return spent([*BENCH, *args], base, {"BENCH_DB": db, "XDG_CACHE_HOME": cache})


def delay() -> None:
    """A proxy for PostgreSQL that delays each chunk by half of the latency, in order."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(1 << 16):
            await asyncio.sleep(LATENCY_S / 2)
            writer.write(chunk)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", PORT)
        await asyncio.gather(pass_on(reader, back), pass_on(there, writer), return_exceptions=True)

    async def listen() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", SLOW)
        await server.serve_forever()

    asyncio.run(listen())


def table(times: Times) -> str:
    """One row per command and kind."""
    lines = [
        "| command | warehouse | wall s | ratio | CPU s | ratio |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for (word, title), each in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*each, strict=True))
        base = [statistics.median(c) for c in zip(*times[word, "file"], strict=True)]
        ratios = wall / base[0], cpu / base[1]
        lines.append(
            f"| {word} | {title} | {wall:.2f} | {ratios[0]:.2f} | {cpu:.2f} | {ratios[1]:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    if shutil.which("pg_ctlcluster") is None:
        raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")
    given = sys.argv[1:]
    main(int(given[0]) if given else 3, given[1:] or [str(ROOT / "data")])
