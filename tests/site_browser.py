"""A browser for the pages of the site: Debian's Chromium, from disk; what tests of it ask alike."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.program import quick
from tests.site_pages import built

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parent.parent / "out" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
BROWSED = [
    pytest.mark.services,
    pytest.mark.skipif(find_spec("playwright") is None, reason="NOT TESTED: playwright is missing"),
    pytest.mark.skipif(CHROMIUM is None, reason="NOT TESTED: Chromium is not installed"),
]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AXE_RUN = """(how) => axe.run(how).then((told) =>
  told.violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 160))]))"""
Opens = Callable[..., "Page"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built site: tables of data/, a long sweep, logs with a spike, hostile names and lines."""
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def single(site: Path) -> Path:
    """Pages in one file, of the same warehouse."""
    root = site.parent / "results"
    for line in ("report", "best", "days", "compare --by recompute"):
        name, *more = line.split()
        command = ("-q", name, *more, "--model", "1.3B", "-o", str(site.parent / f"{name}.html"))
        assert quick(root, *command).code == 0
    audit = quick(root, "-q", "audit", "tables", "-o", str(site.parent / "audit.html"))
    assert audit.code in (0, 1)
    return site.parent


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all of them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opens(chromium: Browser, site: Path) -> Iterator[Opens]:
    """Opens a page in a fresh context; fails on an error or a request elsewhere."""
    heard: list[str] = []
    contexts = []

    def request(of: Request) -> None:
        if not of.url.startswith(("file:", "data:", "http://127.0.0.1:")):
            heard.append(f"asked for {of.url}")

    def opened(path: str, *, top: str = site.as_uri(), **settings: Any) -> Page:  # of Playwright
        context = chromium.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)  # a limit for a busy machine, no claim
        page.on("console", lambda said: heard.extend([said.text] * (said.type == "error")))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", request)
        page.goto(f"{top}/{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not heard


def a_page(site: Path, holds: str, folder: str = "") -> str:
    """The first page whose text has what is looked for."""
    found = sorted(
        one for one in (site / folder).rglob("*.html") if re.search(holds, one.read_text())
    )
    assert found, holds
    return found[0].relative_to(site).as_posix()


def until(page: Page, holds: str) -> None:
    """Wait for an expression; the page forbids Playwright's own way, which is eval."""
    for _ in range(2000):
        if page.evaluate(holds):
            return
        page.wait_for_timeout(30)
    raise AssertionError(holds)


def first_column(page: Page, table: str) -> list[str]:
    """The names of the rows that are seen."""
    rows = page.locator(f"#{table} tbody tr:not(.space):visible > :first-child")
    names: list[str] = rows.all_inner_texts()
    return names


def long_table(page: Page) -> str:
    """The id of the table whose rows are data, once the script has them."""
    table = page.locator("table.grid[data-key]").first
    table.scroll_into_view_if_needed()
    name: str | None = table.get_attribute("id")
    assert name
    page.wait_for_selector(f"#{name}[aria-rowcount]")
    return name


def numbers(page: Page, table: str, key: str) -> list[float]:
    """A column of numbers, as the rows that are drawn show it."""
    at = page.locator(f"#{table} thead th").evaluate_all(
        f"all => all.findIndex(th => th.dataset.key === '{key}')"
    )
    cells = page.locator(f"#{table} tbody tr:not(.space) > :nth-child({at + 1})").all_inner_texts()
    return [float(text.replace(",", "")) for text in cells if text.strip()]


def numeric_key(page: Page, table: str) -> str:
    """A column of numbers that differ."""
    heads = page.locator(f"#{table} thead th[data-kind=number]").all()
    keys: list[str] = [key for one in heads if (key := one.get_attribute("data-key"))]
    return next(key for key in keys if len(set(numbers(page, table, key))) > 3)
