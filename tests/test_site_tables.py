"""Tables of the site in a browser: sorted, filtered, pasted, printed, over http, without script."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import pytest

from tests.program import quick
from tests.site_browser import (
    BROWSED,
    Opens,
    a_page,
    first_column,
    long_table,
    numbers,
    numeric_key,
    until,
)

playwright = pytest.importorskip("playwright.sync_api", reason="NOT TESTED: playwright is missing")
expect = playwright.expect
pytestmark = BROWSED


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


def test_failed_is_every_status_of_a_failure(opens: Opens, site: Path) -> None:
    page = opens("compare.html")
    table = long_table(page)
    kinds = {"oom", "hang", "nan", "fail", "timeout", "cancelled"}

    def statuses(words: str) -> set[str]:
        page.fill(f"#{table}-filter", words)
        until(page, f"decodeURIComponent(location.hash).includes('.q={words}')")
        return {one.strip() for one in page.locator(f"#{table} tbody .badge").all_inner_texts()}

    assert len(found := statuses("failed")) > 1 and found <= kinds
    assert (rest := statuses("-failed")) and not rest & kinds


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


def test_a_folded_table_shows_the_first_of_what_is_sorted_or_found(
    opens: Opens, folder: Path
) -> None:
    head = (
        "# Training on 8 H100 GPUs, sequence length 2048\n\n| Model | GPUs | GBS | Step time (s) |"
    )
    rows = "".join(f"| {size}B | 8 | 64 | {size}.5 |\n" for size in range(10, 30))
    (folder / "a.md").write_text(f"{head}\n|---|---|---|---|\n{rows}")
    assert quick(folder, "-q", "site", "a.md", "-o", "public").code == 0
    page = opens("index.html", top=(folder / "public").as_uri())
    shown = page.locator("#best tbody tr:visible")
    assert shown.count() == 12
    page.click("#best th[data-key=days] button")
    page.click("#best th[data-key=days] button")
    assert shown.first.inner_text().startswith("10B") and shown.count() == 12
    page.fill("#best-filter", "29B")
    expect(shown).to_have_count(1)
    page.fill("#best-filter", "")
    page.get_by_label("All 20 rows").check()
    expect(shown).to_have_count(20)
    page.get_by_label("All 20 rows").uncheck()
    page.emulate_media(media="print")
    assert shown.count() == 20, "paper has all of them"


def test_the_columns_of_a_table_within_a_figure_are_chosen_within_the_window(
    opens: Opens, site: Path
) -> None:
    page = opens(a_page(site, 'class="as-table"', "models"))
    for figure in page.locator(".figures details.as-table:has(.chooser)").all():
        figure.locator("summary").first.click()
        figure.locator(".chooser > summary").click()
        box = figure.locator(".popover").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 1280
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("Escape")
