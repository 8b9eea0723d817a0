"""The pages in Debian's Chromium, from disk and over http: clicked, typed, pasted, printed."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.program import quick
from tests.site_pages import HOSTILE, SPIKE, built

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

playwright = pytest.importorskip("playwright.sync_api", reason="NOT TESTED: playwright is missing")
expect = playwright.expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parent.parent / "out" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(CHROMIUM is None, reason="NOT TESTED: Chromium is not installed"),
]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AXE_RUN = """(how) => axe.run(how).then((told) =>
  told.violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 160))]))"""
Opens = Callable[..., "Page"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built site: tables of data/, a long sweep, logs with a spike, hostile names and lines."""
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def single(site: Path) -> Path:
    """Pages in one file, of the same warehouse."""
    root = site.parent / "results"
    for name in ("report", "best", "days"):
        command = ("-q", name, "--model", "1.3B", "-o", str(site.parent / f"{name}.html"))
        assert quick(root, *command).code == 0
    audit = quick(root, "-q", "audit", "tables", "-o", str(site.parent / "audit.html"))
    assert audit.code in (0, 1)
    return site.parent


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the file."""
    with playwright.sync_playwright() as driver:
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


def test_a_long_table_sorts_and_draws_only_what_is_seen(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, "<table[^>]*data-key", "models"))
    table = long_table(page)
    key = numeric_key(page, table)
    page.click(f"#{table} th[data-key={key}] button")
    found = numbers(page, table, key)
    assert found == sorted(found, reverse=True)
    assert len(found) < 120 < int(page.get_attribute(f"#{table}", "aria-rowcount") or 0)
    page.click(f"#{table} th[data-key={key}] button")
    assert numbers(page, table, key) == sorted(numbers(page, table, key))
    before = first_column(page, table)
    page.locator(f"#{table}").evaluate("table => table.closest('.table-frame').scrollTop = 4000")
    first = f"document.querySelector('#{table} tbody tr:not(.space) > td').innerText.trim()"
    until(page, f"{first} !== {before[0]!r}")
    assert first_column(page, table) != before


def test_a_pasted_address_shows_the_same_view(opens: Opens, site: Path) -> None:
    path = a_page(site, "<table[^>]*data-key", "models")
    page = opens(path)
    table = long_table(page)
    key = numeric_key(page, table)
    page.click(f"#{table} th[data-key={key}] button")
    middle = sorted(numbers(page, table, key))[5]
    page.fill(f"#{table}-filter", f"{key}<={middle}")
    page.locator(".grid-tools", has=page.locator(f"#{table}-filter")).get_by_label(
        "Only what differs"
    ).check()
    until(page, "location.hash.includes('.q=') && location.hash.includes('.differ=1')")
    other = opens(path + page.evaluate("location.hash"))
    long_table(other)
    for one in (page, other):
        expect(one.locator(f"#{table} th[data-key={key}]")).to_have_attribute(
            "aria-sort", "descending"
        )
    assert first_column(other, table) == first_column(page, table)
    assert (
        other.locator(f"#{table} thead").inner_text()
        == page.locator(f"#{table} thead").inner_text()
    )
    assert all(value <= middle for value in numbers(other, table, key))


def test_columns_are_chosen_and_remembered(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, "<table[^>]*data-key", "models"))
    table = long_table(page)
    heads = page.locator(f"#{table} thead th")
    before = heads.count()
    chooser = page.locator(f".grid-tools:has(#{table}-filter) details.chooser")
    chooser.locator("summary").click()
    chooser.locator("input:checked").first.uncheck()
    assert heads.count() == before - 1
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "Columns"
    page.goto(page.url.split("#")[0])
    page.reload()
    long_table(page)
    assert heads.count() == before - 1


def test_a_short_table_filters_its_own_rows(opens: Opens, site: Path) -> None:
    page = opens("index.html")
    table = (
        page.locator("table.grid:not([data-key])")
        .filter(has=page.locator("tbody tr:nth-child(6)"))
        .first
    )
    name = table.get_attribute("id")
    assert name
    all_rows = first_column(page, name)
    page.fill(f"#{name}-filter", f'"{all_rows[-1]}"')
    until(page, "location.hash.includes('.q=')")
    kept = first_column(page, name)
    assert kept[-1:] == all_rows[-1:] and len(kept) < len(all_rows)
    page.fill(f"#{name}-filter", "no-row-has-this")
    expect(page.locator(f"#{name} tbody tr:visible")).to_have_count(0)


def test_a_point_of_a_chart_is_told_pinned_and_linked(opens: Opens, site: Path) -> None:
    path = a_page(site, 'class="mark', "models")
    page = opens(path)
    mark = page.locator("figure.chart a.mark").last
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    note = mark.get_attribute("data-note") or ""
    assert note and note in page.locator("#tip").inner_text()
    page.mouse.click(*middle)
    panel = page.locator("section.pinned:visible")
    expect(panel).to_contain_text(note)
    panel.locator("details").first.locator("table tbody tr").first.wait_for()
    other = opens(path + page.evaluate("location.hash"))
    assert (
        other.locator("section.pinned:visible .pinned-head + *").inner_text()
        == panel.locator(".pinned-head + *").inner_text()
    )
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


def test_a_chart_is_one_stop_of_tab_and_arrows_walk_its_points(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, 'class="mark', "models"))
    chart = page.locator("figure.chart:has(a.mark)").first
    assert chart.locator("a.mark[tabindex='0']").count() == 1
    chart.locator("a.mark[tabindex='0']").focus()
    first = page.evaluate("document.activeElement.dataset.note")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.dataset.note")
    assert second and page.locator("#tip").inner_text() == second
    page.keyboard.press("Enter")
    expect(page.locator("section.pinned:visible")).to_contain_text(second)
    assert first is not None


def test_a_curve_keeps_a_spike_of_one_step_and_tells_real_points(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, "figure[^>]*data-key", "runs"))
    plot = page.locator("svg.plot").first
    plot.wait_for()
    values = page.locator(".plot-frame").first.locator("details.as-table")
    values.locator("summary").click()
    expect(values).to_contain_text(f"{SPIKE:g}")
    plot.focus()
    page.keyboard.press("Home")
    readout = page.locator(".plot-frame output").first
    assert readout.inner_text().startswith("step 1")
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 60, steps=4)
    page.mouse.up()
    until(page, "location.hash.includes('.x=')")
    zoomed = plot.inner_html()
    other = opens(page.url.removeprefix(site.as_uri() + "/"))
    other.locator("svg.plot").first.wait_for()
    axes = "document.querySelector('svg.plot .axes').textContent"
    assert other.evaluate(axes) == page.evaluate(axes)
    plot.focus()
    page.keyboard.press("0")
    until(page, "!location.hash.includes('.x=')")
    assert plot.inner_html() != zoomed


def test_ticked_runs_are_compared(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, "<table[^>]*data-key", "models"))
    long_table(page)
    boxes = page.locator("table.grid[data-key] input.pick")
    ids = [boxes.nth(at).get_attribute("value") for at in (0, 3)]
    for at in (0, 3):
        boxes.nth(at).check()
    expect(page.locator(".basket")).to_contain_text("2 runs ticked")
    page.locator(".basket a").click()
    page.wait_for_url("**/compare.html*")
    assert page.evaluate("location.hash") == f"#runs={','.join(map(str, ids))}"
    table = page.locator("#compare table.side")
    differing = table.locator("tbody tr").count()
    page.get_by_label("Only what differs").uncheck()
    assert table.locator("tbody tr").count() > differing
    page.locator("#compare button.close").first.click()
    expect(table.locator("thead th")).to_have_count(2)
    assert page.evaluate("location.hash").startswith(f"#runs={ids[1]}")


def test_slash_searches_everything(opens: Opens, site: Path) -> None:
    page = opens("index.html")
    page.keyboard.press("/")
    page.locator("dialog.search li").first.wait_for()
    page.keyboard.type("1.3B")
    assert "1.3B" in page.locator("dialog.search li[aria-selected=true]").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: not url.endswith("index.html"))


def test_the_keyboard_alone_reaches_everything(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, 'class="mark', "models"))
    wanted = {
        "search": "open-search",
        "theme": "theme",
        "sort": "sort",
        "chart": "mark",
        "pick": "pick",
    }
    met: set[str] = set()
    for _ in range(150):
        page.keyboard.press("Tab")
        met.update(page.evaluate("[...document.activeElement.classList]"))
        if set(wanted.values()) <= met:
            break
    assert set(wanted.values()) <= met


def test_the_theme_is_chosen_and_stays(opens: Opens, site: Path) -> None:
    page = opens("index.html", color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("button.theme")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark
    assert opens("index.html", color_scheme="dark").evaluate(ground) == dark


def test_paper_has_the_rows_and_no_tools(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, "<table[^>]*data-key", "models"))
    table = long_table(page)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    rows = int(page.get_attribute(f"#{table}", "aria-rowcount") or 0) - 1
    assert page.locator(f"#{table} tbody tr:not(.space)").count() == rows > 200
    assert not page.locator(".grid-tools").first.is_visible()
    assert page.pdf()[:4] == b"%PDF"


def test_without_the_script_the_page_is_whole(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, "<table[^>]*data-key", "models"), java_script_enabled=False)
    assert page.locator("table.grid[data-key] tbody tr").count() == 200
    mark = page.locator("a.mark").first
    assert (site / "models" / (mark.get_attribute("href") or "")).resolve().is_file()
    run = opens(a_page(site, "figure[^>]*data-key", "runs"), java_script_enabled=False)
    assert run.locator("figure.curve svg").count() > 0
    assert "bench compare" in opens("compare.html", java_script_enabled=False).inner_text("main")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and tells nobody."""

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_over_http_it_is_the_same(opens: Opens, site: Path) -> None:
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        path = a_page(site, "<table[^>]*data-key", "models")
        page = opens(path, top=f"http://127.0.0.1:{server.server_port}")
        table = long_table(page)
        page.fill(f"#{table}-filter", "no-row-has-this")
        expect(page.locator(f"#{table} tbody tr:not(.space)")).to_have_count(0)
    finally:
        server.shutdown()
        server.server_close()


def test_nothing_hostile_runs_and_all_of_it_is_shown(opens: Opens, site: Path) -> None:
    page = opens("index.html")
    texts = ""
    pages = [one for one in sorted(site.rglob("*.html")) if "hostile0" in one.read_text()]
    for file in [one for one in pages if one.parent.name != "runs"] + pages[-20:]:
        page.goto(f"{site.as_uri()}/{quote(file.relative_to(site).as_posix())}")
        texts += page.inner_text("body")
        assert page.evaluate("window.pwned") is None
    page.goto(f"{site.as_uri()}/index.html")
    page.keyboard.press("/")
    page.locator("dialog.search li").first.wait_for()
    page.keyboard.type("hostile")
    assert page.evaluate("window.pwned") is None
    missing = [name for name in HOSTILE if " ".join(name.split()) not in " ".join(texts.split())]
    assert not missing


KINDS = [
    "index.html",
    "compare.html",
    "findings.html",
    "failures.html",
    "trends.html",
    "about.html",
    "models/",
    "runs/",
    "sources/",
]


@pytest.mark.parametrize("name", ["report", "best", "days", "audit"])
def test_a_page_in_one_file_sorts_and_asks_nobody(opens: Opens, single: Path, name: str) -> None:
    page = opens(f"{name}.html", top=single.as_uri())
    head = page.locator("table.grid:visible th button.sort").first
    head.scroll_into_view_if_needed()
    head.click()
    assert page.locator("th[aria-sort]").count() == 1 and "sort=" in page.url
    assert page.locator("header, .open-search").count() == 0, "there is nothing beside it"
    if name != "audit":
        page.locator("svg a.mark").first.hover()
        expect(page.locator("#tip")).to_be_visible()
        page.mouse.move(0, 0)
    if AXE.is_file():
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.evaluate(AXE.read_text("utf-8"))
            assert page.evaluate(AXE_RUN, {"runOnly": RULES}) == []


def test_an_effect_is_told_of_runs_that_differ_in_one_setting(opens: Opens, site: Path) -> None:
    pairs = [
        (pair["base"][0], pair["with"][0])
        for file in sorted(site.glob("data/models/*/effects.js"))
        for pair in json.loads(file.read_text("utf-8").partition(", ")[2].rpartition(")")[0])[
            "pairs"
        ]
        if not pair["sure"]
    ]
    page = opens(f"compare.html#runs={','.join(pairs[0])}")
    folded = page.locator("#compare .effects details").first
    folded.locator("summary").click()
    assert folded.locator("tbody tr").count() >= 1
    assert page.locator("#compare .effects > .table-frame tbody tr").count() == 0, "none is sure"


@pytest.mark.parametrize("width", [390, 1280, 2000])
def test_no_kind_of_page_is_wider_than_the_window(
    opens: Opens, site: Path, single: Path, width: int
) -> None:
    """Pictures of each kind of page are kept in out/pages/, for people to look at."""
    kept = AXE.parents[3] / "pages"
    tops = {
        **dict.fromkeys(KINDS, site),
        **{f"{name}.html": single for name in ("report", "audit")},
    }
    for kind, top in tops.items():
        for theme in ("light", "dark"):
            page = opens(
                a_page(site, "", kind) if kind.endswith("/") else kind,
                top=top.as_uri(), viewport={"width": width, "height": 1400}, color_scheme=theme,
            )  # fmt: skip
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), kind
            name = kind.strip("/").removesuffix(".html")
            page.screenshot(path=kept / f"{name}-{width}-{theme}.png")


@pytest.mark.skipif(not AXE.is_file(), reason="NOT TESTED: axe-core is not installed (npm)")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_no_violation(opens: Opens, site: Path, kind: str, theme: str) -> None:
    path = a_page(site, "<main", kind) if kind.endswith("/") else kind
    if not (site / path).exists():
        pytest.skip(f"this site has no {kind}")
    if kind == "compare.html":
        ids = [one.stem for one in sorted((site / "runs").glob("*.html"))[:3]]
        path += f"#runs={','.join(ids)}"
    page = opens(path, color_scheme=theme, viewport={"width": 1280, "height": 900})
    page.wait_for_load_state("load")
    page.wait_for_timeout(150)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(AXE.read_text())  # not as a script tag, which the policy of the page forbids
        found = page.evaluate(AXE_RUN, {"runOnly": RULES, "preload": False})
        assert found == []
