"""Times of building a site and of showing its pages in a browser, with their limits.

    python benchmarks/site.py [build] [pages] [many] [steps] [--rounds N] [--keep FOLDER]

Cases: `build` builds the site of 2,000 runs, and again after one more log; `pages` opens its
overview and a model's page with 1,000 rows from disk; `many` does that with 100,000 rows; `steps`
opens a run of 10^6 steps. The warehouses are generated (`size.py`) and kept with --keep. Pages are
opened in a fresh context of Debian's Chromium by Playwright (`pip install -e '.[browser]'`); prints
the median.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import making
import size
from measured import BENCH, load, machine, spent

LOGS, ROWS = 500, 1_500  # number among the 2,000 runs
STEPS = 1_000_000
CASES = ("build", "pages", "many", "steps")
# Changes are on the screen after a frame.
FRAME = "await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
SORTED = f"""async (name) => {{
  const began = performance.now();
  document.querySelector(`#${{name}} th[data-kind=number] button.sort`).click();
  {FRAME}
  return performance.now() - began;
}}"""
FILTERED = f"""async (name) => {{
  const box = document.getElementById(`${{name}}-filter`);
  const count = document.querySelector(`.grid-tools:has(#${{name}}-filter) .count`);
  box.value = "12";
  const began = performance.now();
  const later = new Promise((done) => new MutationObserver(() => done()).observe(count, {{
    childList: true, characterData: true, subtree: true }}));
  box.dispatchEvent(new Event("input"));
  await later;
  {FRAME}
  return performance.now() - began;
}}"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
Row = tuple[str, str, str]


def main() -> None:
    """Print a markdown table of measurements and limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="where warehouses are kept")
    options = parser.parse_args()
    cases = options.cases or CASES
    if unknown := set(cases) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    print(f"median of {options.rounds} rounds, {load()}\n")
    print("| measure | result | at most |\n| :-- | --: | --: |")
    with tempfile.TemporaryDirectory() as name:
        kept = (options.keep or Path(name)).absolute()
        for case in cases:
            for row in globals()[case](kept, options.rounds):
                print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{machine()}")


def build(kept: Path, rounds: int) -> Iterator[Row]:
    """Build the site of 2,000 runs: from scratch, unchanged, and with one more log."""
    folder = mixed(kept)
    shutil.rmtree(folder / "public", ignore_errors=True)
    yield "2,000 runs built", made(folder), "30 s"
    yield "again, nothing new", made(folder), ""
    with tempfile.TemporaryDirectory(dir=kept) as copied:
        here = Path(copied) / "results"
        shutil.copytree(folder, here)
        (here / "new.log").write_text(log(200, LOGS))
        spent([*BENCH, "-q", "ingest", "."], here)
        yield "again with one more log", made(here), "3 s"
    files = [one for one in (folder / "public").rglob("*") if one.is_file()]
    size = sum(file.stat().st_size for file in files)
    yield "files, size of the site", f"{len(files):,}, {size / 1e6:.1f} MB", ""


def pages(kept: Path, rounds: int) -> Iterator[Row]:
    """The overview and a page with 1,000 rows."""
    folder = mixed(kept)
    if not (folder / "public").exists():
        made(folder)
    with chromium() as opened:
        yield from overview(folder / "public", opened, rounds, ("300 kB", "0.3 s", "0.8 s"))
        yield from table(folder / "public", opened, rounds, "50 ms")


def many(kept: Path, rounds: int) -> Iterator[Row]:
    """The same with 100,000 rows."""
    folder = size.made(kept / "100000", 100_000)
    yield "100,000 runs built", made(folder), ""
    with chromium() as opened:
        yield from overview(folder / "public", opened, rounds, ("", "", "1.5 s"))
        yield from table(folder / "public", opened, rounds, "")
        yield from comparison(folder / "public", opened, rounds)


def steps(kept: Path, rounds: int) -> Iterator[Row]:
    """The page of a run with 10^6 steps until the script has drawn its curves."""
    folder = kept / "steps"
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / "long.log").write_text(log(STEPS, 1))
        spent([*BENCH, "-q", "ingest", "."], folder)
    yield "a run of 10^6 steps built", made(folder), ""
    page = next(folder.glob("public/runs/*.html"))
    with chromium() as opened:
        found = [opened(page, "svg.plot .line") for _ in range(rounds)]
    yield "a run of 10^6 steps: first paint", seconds(one["paint"] for one in found), ""
    yield "a run of 10^6 steps: curves drawn", seconds(one["ready"] for one in found), "0.5 s"
    yield "a run of 10^6 steps: bytes", f"{found[0]['bytes'] / 1e3:.0f} kB", ""


def overview(site: Path, opened: Opens, rounds: int, limits: tuple[str, str, str]) -> Iterator[Row]:
    """Bytes of the start page, time to first paint, and time until its tables respond."""
    found = [opened(site / "index.html", "button.sort") for _ in range(rounds)]
    yield "overview: bytes with style and script", f"{found[0]['bytes'] / 1e3:.0f} kB", limits[0]
    yield "overview: first paint", seconds(one["paint"] for one in found), limits[1]
    yield "overview: usable", seconds(one["ready"] for one in found), limits[2]


def table(site: Path, opened: Opens, rounds: int, limit: str) -> Iterator[Row]:
    """The longest table: time to show, sort and filter, and the number of its elements."""
    counts = {
        page: int(counted[1].replace(",", ""))
        for page in site.glob("models/*.html")
        if (counted := re.search(r"([\d,]+)\s+runs? of", page.read_text()))
    }
    page, rows = max(counts.items(), key=lambda item: item[1])
    times = [opened(page, "table[aria-rowcount]", measure_table) for _ in range(rounds)]
    name = f"model's page, {rows:,} rows"
    yield f"{name}: first paint", seconds(one["paint"] for one in times), ""
    yield f"{name}: all rows at hand", seconds(one["ready"] for one in times), "1.5 s"
    yield f"{name}: sort", milliseconds(one["sort"] for one in times), limit
    yield f"{name}: filter", milliseconds(one["filter"] for one in times), limit
    yield f"{name}: rows that exist", f"{times[0]['rows']}", ""


def comparison(site: Path, opened: Opens, rounds: int) -> Iterator[Row]:
    """The page that compares: its table of all runs, and two runs side by side."""
    page = site / "compare.html"
    every = [opened(page, "table[aria-rowcount]") for _ in range(rounds)]
    yield "table of all runs: at hand", seconds(one["ready"] for one in every), "1.5 s"
    yield "table of all runs: bytes", f"{every[0]['bytes'] / 1e6:.1f} MB", ""
    ids = ",".join(run.stem for run in sorted((site / "runs").glob("*.html"))[:2])
    two = [opened(page, "table.side", view=f"#runs={ids}") for _ in range(rounds)]
    yield "two runs compared: shown", seconds(one["ready"] for one in two), ""
    yield "two runs compared: bytes", f"{two[0]['bytes'] / 1e3:.0f} kB", ""


def measure_table(page: Any) -> dict[str, float]:
    """Sort by a number column, then filter by a word, each until it is on the screen."""
    table = page.locator("table[aria-rowcount]").first
    name = table.get_attribute("id")
    sort = page.evaluate(SORTED, name)
    took = page.evaluate(FILTERED, name)
    return {"sort": sort, "filter": took, "rows": table.locator("tbody tr:not(.space)").count()}


Opens = Callable[..., dict[str, Any]]


@contextmanager
def chromium() -> Iterator[Opens]:
    """A function that opens a page from disk and returns the ms until an element exists."""
    from playwright.sync_api import sync_playwright

    where = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox"])

        def opened(
            file: Path,
            until: str,
            work: Callable[[Any], dict[str, float]] | None = None,
            view: str = "",
        ) -> dict[str, Any]:
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            read: list[Path] = []
            page.on("requestfinished", lambda of: read.append(Path(of.url.removeprefix("file://"))))
            page.goto(file.as_uri() + view, wait_until="commit")
            if "rowcount" in until:
                page.locator("table.grid[data-key]").first.scroll_into_view_if_needed()
            page.locator(until).first.wait_for(state="attached", timeout=60_000)
            measured = {"ready": page.evaluate("performance.now()")}
            page.wait_for_load_state("load")
            page.wait_for_timeout(200)
            measured |= {"paint": page.evaluate(PAINT), **(work(page) if work else {})}
            measured["bytes"] = sum(one.stat().st_size for one in {*read} if one.is_file())
            context.close()
            return measured

        yield opened
        browser.close()


def mixed(kept: Path) -> Path:
    """Write a warehouse of 2,000 runs with 500 logs and a model with 1,000 rows of tables."""
    folder = kept / "2000"
    if (folder / "bench.duckdb").exists():
        spent(
            [*BENCH, "-q", "ingest", "."], folder
        )  # again, if an older version of the program has read it
        return folder
    folder.mkdir(parents=True)
    for number in range(LOGS):
        (folder / f"run-{number:03d}.log").write_text(log(200, number))
    rng = random.Random(3)
    for number in range(ROWS // size.A_TABLE + 1):
        rows = min(size.A_TABLE, ROWS - number * size.A_TABLE)
        model = size.MODELS[0 if number < 5 else 1]
        text = "# Sweep\n\nSequence length 2048, A100 80GB\n\n"
        text += f"NHIDDEN={model[1]} / NLAYERS={model[2]}\n\n"
        setups = rng.sample(making.SETUPS, rows)
        lines = "".join(making.row(rng, model[:4], *setup) for setup in setups)
        (folder / f"sweep-{number:03d}.md").write_text(text + making.HEADER + lines)
    spent([*BENCH, "-q", "ingest", "."], folder)
    return folder


def log(count: int, seed: int) -> str:
    """A log of Megatron-LM with one slow step."""
    rng = random.Random(seed)
    slow = rng.randrange(1, count)
    return making.log(
        count, count, lambda at: 5000 * (8 if at == slow else rng.uniform(0.98, 1.02)),
        lambda at: 2 + 8 / (1 + at / 100),
    )  # fmt: skip


def made(folder: Path) -> str:
    """Wall and processor seconds of `bench site` as a process."""
    took = spent([*BENCH, "-q", "site", "-o", "public"], folder)
    return f"{took.wall:.1f} s ({took.processor:.1f} s of processors)"


def seconds(found: Iterator[float]) -> str:
    """The median of milliseconds, in seconds."""
    return f"{statistics.median(found) / 1000:.2f} s"


def milliseconds(found: Iterator[float]) -> str:
    """The median of milliseconds."""
    return f"{statistics.median(found):.0f} ms"


if __name__ == "__main__":
    main()
