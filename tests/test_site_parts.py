"""Parts of `bench site`: times between builds, names of files, data files and ticks."""

from __future__ import annotations

import re

import pytest

from bench.schema.errors import BenchError
from bench.site import effects, svg
from bench.site.charts import Plot, scatter
from bench.site.table import Table
from bench.site.text import Slugs, Text, data_file
from bench.terminal.site import parse_every
from bench.vocabulary.format import percent


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60), ("5m", 300), ("1h", 3600), ("90", 90)])
def test_times_between_builds(text: str, seconds: float) -> None:
    assert parse_every(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-5s", "soon", "1d"])
def test_what_is_no_time_between_builds(text: str) -> None:
    with pytest.raises(BenchError, match="no time between two builds"):
        parse_every(text)


def test_slugs_are_safe_and_of_one_thing_each() -> None:
    slugs = Slugs()
    names = ["1.3B", "1.3b", "../../etc/passwd", "a/b", "a-b", "", "日本", ".htaccess", "x" * 300]
    made = [slugs.of(name) for name in names]
    assert len({*made}) == len(names)
    assert all(re.fullmatch(r"[0-9a-z][0-9a-z.-]{0,70}", one) for one in made), made
    assert made == [slugs.of(name) for name in names]


def test_an_id_that_is_no_name_of_a_file_gets_another() -> None:
    text = Text()
    assert text.run_id("0123456789ab") == "0123456789ab"
    assert re.fullmatch("[0-9a-f]{12}", text.run_id("../../x"))


def test_a_data_file_holds_no_end_of_a_script() -> None:
    made = data_file("k", {"a": "</script><!--\u2028"}).decode()
    assert "</" not in made and "<!--" not in made and "\u2028" not in made


@pytest.mark.parametrize(
    ("values", "log", "texts"),
    [
        ([1, 4, 64], True, ["1", "4", "64"]),
        ([0.001, 0.05], True, ["0.001", "0.002", "0.005", "0.01", "0.02", "0.05"]),
        ([1.0e-4, 1.2e-4], False, ["1e-4", "1.1e-4", "1.2e-4"]),
        ([0.48, 0.58], False, ["0.48", "0.50", "0.52"]),
    ],
)
def test_ticks_are_told_apart(values: list[float], log: bool, texts: list[str]) -> None:
    made = svg.axis(values, 0, 400, log=log, whole=log and values[0] >= 1)
    shown = [text for _, text in made.ticks]
    assert len({*shown}) == len(shown)
    assert {*texts} <= {*shown} or shown == texts


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.9, 1.3, (0.9, 1.3)), (7e-21, 2.8e20, (None, None)), (None, None, (None, None))],
)
def test_an_interval_without_bounds_is_not_shown(
    low: float | None, high: float | None, shown: tuple[float | None, float | None]
) -> None:
    row = {"speedup_low": low, "speedup_high": high}
    assert effects._interval(row) == shown


def test_a_chart_says_that_its_points_stand_side_by_side() -> None:
    def note(*heights: float) -> str:
        marks = [svg.Mark(1024.0, y, f"run {y}", "#") for y in heights] + [
            svg.Mark(8.0, 0.5, "small", "#")
        ]
        chart = scatter(
            Plot(id="c", title="", marks=marks, series=[""], x_title="Devices", y_title="MFU"),
            "",
            Table("t", "", []),
        )
        assert chart is not None
        return chart.note

    assert note(0.4, 0.401) == "runs that would overlap stand side by side"
    assert note(0.2, 0.6) == ""


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [(0.176, 0.186, ["17.6%", "17.8%"]), (0.1, 0.9, ["20%", "40%"]), (0.17, 0.18, ["17.0%"])],
)
def test_ticks_of_shares_have_the_decimals_that_tell_them_apart(
    low: float, high: float, texts: list[str]
) -> None:
    shown = [label for _, label in svg.axis([low, high], 0, 400, text=percent).ticks]
    assert len({*shown}) == len(shown) and shown[: len(texts)] == texts
