"""Charts and curves of the site in a browser: pointed at, pinned, zoomed, compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.site_browser import BROWSED, Opens, a_page, long_table, until
from tests.site_pages import SPIKE

playwright = pytest.importorskip("playwright.sync_api", reason="NOT TESTED: playwright is missing")
expect = playwright.expect
pytestmark = BROWSED


def test_a_point_of_a_chart_is_told_pinned_and_linked(opens: Opens, site: Path) -> None:
    path = a_page(site, 'class="mark', "models")
    page = opens(path)
    mark = page.locator("figure.chart[data-number] a.mark").last
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    note = mark.get_attribute("aria-label") or ""
    assert note and note in page.locator("#tip").inner_text()
    page.mouse.click(*middle)
    panel = page.locator("section.pinned:visible")
    expect(panel).to_contain_text(note)
    panel.locator("details").first.locator("table tbody tr").first.wait_for()
    line, number = (
        panel.locator("details").first.locator("ul.tree").first.locator(":scope > li").all()
    )
    expect(line.locator("code")).to_contain_text("|")  # the row as its document has it
    expect(number.locator(".how").first).to_contain_text("= ")
    assert number.locator("a[href*='sources/']").count()
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
    bar = page.locator(".basket")
    expect(bar).to_contain_text("2 runs ticked")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    ends = "document.querySelector('footer').getBoundingClientRect().bottom"
    assert page.evaluate(ends) <= page.evaluate(
        "document.querySelector('.basket').getBoundingClientRect().top + 1"
    ), "at its end the page has room for the bar"
    bar.get_by_label("Hide this bar").click()
    expect(bar).to_be_hidden()
    boxes.nth(3).uncheck()
    boxes.nth(3).check()
    expect(bar).to_be_visible()
    address = page.url
    page.goto(f"{site.as_uri()}/sources.html")
    expect(bar).to_be_hidden()
    page.goto(address)
    page.locator(".basket a").click()
    page.wait_for_url("**/compare.html*")
    assert page.evaluate("location.hash") == f"#runs={','.join(map(str, ids))}"
    table = page.locator("#compare table.side")
    differing = table.locator("tbody tr").count()
    page.locator("#compare").get_by_label("Only what differs").uncheck()
    assert table.locator("tbody tr").count() > differing
    page.locator("#compare button.close").first.click()
    expect(table.locator("thead th")).to_have_count(2)
    assert page.evaluate("location.hash").startswith(f"#runs={ids[1]}")


def test_comparing_reads_the_data_of_the_ticked_runs_alone(opens: Opens, site: Path) -> None:
    ids = [one.stem for one in sorted((site / "runs").glob("*.html"))[:3]]
    page = opens("index.html")
    read: list[str] = []
    page.on("request", lambda of: read.append(of.url.partition("/data/")[2]))
    page.goto(f"{site.as_uri()}/compare.html#runs={ids[0]},{ids[1]}")
    page.locator("#compare table.side").wait_for()
    page.wait_for_timeout(300)
    assert f"runs/{ids[0]}.js" in read and "every.js" not in read
    # The list of all is there when asked for; what is ticked in it can be compared.
    page.locator("#every-run > summary").click()
    long_table(page)
    third = page.locator("#every tbody input.pick:not(:checked)").nth(5).get_attribute("value")
    page.locator(f"#every input.pick[value='{third}']").check()
    page.locator(".basket a").click()
    expect(page.locator("#compare table.side thead th")).to_have_count(4)
    assert page.evaluate("location.hash") == f"#runs={ids[0]},{ids[1]},{third}"
    expect(page.locator("#every")).to_be_hidden()
    expect(page.locator(".basket")).to_be_hidden()
    page.goto(f"{site.as_uri()}/index.html")
    page.locator(".tiles a[href$=every-run]").click()
    expect(page.locator("#every")).to_be_visible()


def test_memory_of_several_units_is_compared_in_one(opens: Opens, site: Path) -> None:
    found: dict[str, str] = {}
    for file in sorted(site.glob("data/runs/*.js")):
        text = file.read_text("utf-8")
        unit = re.search(r'"Memory","[\d,.]+ (MiB|GB)"', text)
        if unit:
            found.setdefault(unit[1], file.stem)
    page = opens(f"compare.html#runs={found['MiB']},{found['GB']}")
    row = page.locator("#compare table.side tr", has=page.locator("th", has_text="Memory")).first
    ratio = re.search(r"([\d.]+)×", row.inner_text())
    assert ratio and 0.1 < float(ratio[1]) < 10


def _pairs(site: Path) -> list[dict[str, Any]]:
    """What the models' pages have of pairs of runs."""
    return [
        pair
        for file in sorted(site.glob("data/models/*/effects.js"))
        for pair in json.loads(file.read_text("utf-8").partition(", ")[2].rpartition(")")[0])[
            "pairs"
        ]
    ]


def test_an_effect_tells_of_runs_that_are_not_compared(opens: Opens, site: Path) -> None:
    """A side is the median of its configuration's jobs, also of those that nobody ticked."""
    pooled = next(pair for pair in _pairs(site) if len(pair["base"]) + len(pair["with"]) == 3)
    page = opens(f"compare.html#runs={pooled['base'][0]},{pooled['with'][0]}")
    page.locator("#compare .effects tbody tr").first.wait_for(state="attached")
    text = page.locator("#compare .effects").text_content() or ""
    assert "with 1 more run of the same configurations" in text
    page = opens(f"compare.html#runs={','.join([*pooled['base'], *pooled['with']])}")
    page.locator("#compare .effects tbody tr").first.wait_for(state="attached")
    assert "more run" not in (page.locator("#compare .effects").text_content() or "")


def test_an_effect_is_told_of_runs_that_differ_in_one_setting(opens: Opens, site: Path) -> None:
    pairs = [pair for pair in _pairs(site) if not pair["sure"]]
    page = opens(f"compare.html#runs={pairs[0]['base'][0]},{pairs[0]['with'][0]}")
    folded = page.locator("#compare .effects details").first
    folded.locator("summary").click()
    assert folded.locator("tbody tr").count() >= 1
    assert page.locator("#compare .effects > .table-frame tbody tr").count() == 0, "none is sure"
