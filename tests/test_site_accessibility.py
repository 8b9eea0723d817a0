"""The site in a browser for everyone: searched, by keyboard, by axe-core, at any width, in both
themes, in one file, and whatever stands in the sources."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.site_browser import AXE, AXE_RUN, BROWSED, RULES, Opens, a_page
from tests.site_pages import HOSTILE

playwright = pytest.importorskip("playwright.sync_api", reason="NOT TESTED: playwright is missing")
expect = playwright.expect
pytestmark = BROWSED


def test_slash_searches_everything(opens: Opens, site: Path) -> None:
    page = opens("index.html")
    page.keyboard.press("/")
    page.locator("dialog.search li").first.wait_for()
    page.keyboard.type("1.3B")
    assert "1.3B" in page.locator("dialog.search li[aria-selected=true]").inner_text()
    page.locator("dialog.search input").fill("LD_PRELOAD=libtcmalloc.so")
    expect(page.locator("dialog.search li").first).to_contain_text("environment")
    # A question is its names; of a setting its change is told, where a model's page has it.
    page.locator("dialog.search input").fill("Did recompute help?")
    answer = page.locator("dialog.search li .effect").first
    answer.wait_for()
    assert answer.inner_text().startswith("recompute: full → none: 1.")
    # What was found for the first words adds nothing to what all of them find.
    page.locator("dialog.search input").fill("")
    page.keyboard.type("is recompute worth it")
    answer.wait_for()
    page.wait_for_timeout(300)
    found = page.locator("dialog.search li").all_inner_texts()
    assert len(found) == len(set(found))
    page.locator("dialog.search input").fill("1.3B")
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
    "index.html", "compare.html", "findings.html", "failures.html", "trends.html", "about.html",
    "models/", "runs/", "sources/",
]  # fmt: skip


@pytest.mark.parametrize("name", ["report", "best", "days", "compare", "audit"])
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
            if width == 2000:
                page.set_viewport_size({"width": 2560, "height": 1400})
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), kind


def test_a_phone_shows_the_whole_menu_and_what_a_finding_rests_on(opens: Opens) -> None:
    page = opens("findings.html", viewport={"width": 390, "height": 844})
    boxes = [one.bounding_box() for one in page.locator(".pages a").all()]
    assert len(boxes) == 7
    boxes += [
        one.bounding_box() for one in page.locator("#findings tbody tr:nth-child(1) td").all()
    ]
    for box in boxes:
        assert box is None or (box["x"] >= 0 and box["x"] + box["width"] <= 390)


def test_a_phone_shows_short_names_of_runs_whole(opens: Opens, site: Path) -> None:
    page = opens(a_page(site, ">hostile</span>", "models"), viewport={"width": 390, "height": 844})
    names = page.locator("table.grid td:first-child a:has(.stem)")
    cut = """all => all.flatMap((one) => [...one.children])
        .filter((part) => part.scrollWidth > part.clientWidth + 1)
        .map((part) => part.textContent)"""
    assert names.count() > 3 and names.evaluate_all(cut) == []


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


@pytest.mark.skipif(not AXE.is_file(), reason="NOT TESTED: axe-core is not installed (npm)")
def test_a_page_opened_at_a_line_covers_no_link(opens: Opens, site: Path) -> None:
    path = a_page(site, 'id="L60"', "sources")
    page = opens(f"{path}#L40", viewport={"width": 1280, "height": 500})
    page.wait_for_load_state("load")
    page.wait_for_timeout(150)
    page.evaluate(AXE.read_text())
    assert page.evaluate("scrollY") > 0
    assert page.evaluate(AXE_RUN, {"runOnly": RULES, "preload": False}) == []
