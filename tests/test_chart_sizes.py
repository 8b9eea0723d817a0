"""The axis of scaling charts: nodes or devices, as the sentences on scaling count them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.program import quick

HEAD = "| Nodes | GPUs | DP | TP | PP | MBS | GBS | Sec/it |\n|--|--|--|--|--|--|--|--|\n"
TIMES = {1: 60.0, 2: 31.0, 4: 16.0, 8: 8.3, 16: 4.6}
PARTS = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 16)]  # of a node, then two nodes


def scaled(file: Path, sizes: list[tuple[int, int]], head: str = HEAD) -> None:
    rows = [f"| {n} | {of} | {of} | 1 | 1 | 1 | 512 | {TIMES[of]} |\n" for n, of in sizes]
    file.write_text(f"# 1.3B on H100, sequence length 2048\n\n{head}{''.join(rows)}")


def words(file: Path) -> list[str]:
    """The texts of a chart."""
    return re.findall(r"<!-- (.*?) -->", file.read_text())


def page_and_charts(folder: Path, file: str) -> tuple[str, list[str], list[str], list[str]]:
    """The page, and the texts of its charts of scaling and of rates, and of `chart efficiency`."""
    assert quick(folder, "report", file, "-o", "page").code == 0
    assert quick(folder, "chart", "efficiency", file, "-o", "a.svg").code == 0
    page = folder / "page"
    drawn = [page / "1.3B-scaling.svg", page / "1.3B-aggregate-pflops.svg", folder / "a.svg"]
    scaling, rates, alone = map(words, drawn)
    return (page / "1.3B.md").read_text(), scaling, rates, alone


@pytest.mark.parametrize("called", ["GPUs", "Ranks"])
def test_parts_of_a_node_and_several_nodes_are_on_one_axis_of_devices(
    folder: Path, called: str
) -> None:
    scaled(folder / "a.md", PARTS, HEAD.replace("GPUs", called))
    text, scaling, rates, alone = page_and_charts(folder, "a.md")
    assert "81.5% strong-scaling efficiency on 16 devices against 1" in text
    assert "best of each device count" in text and "node count" not in text
    assert "1.3B: 82% efficiency on 16 devices" in scaling
    assert "1.3B: 1.78 model PFLOP/s at best, on 16 devices" in rates
    assert "1.3B on H100, GBS 512: 82% efficiency on 16 devices" in alone
    assert "Tokens/s a device, against the smallest run" in alone
    for drawn in (scaling, rates, alone):
        assert "Devices" in drawn and {"1", "2", "4", "8", "16"} <= set(drawn)
        assert not any("process" in one for one in drawn), "one line, no loose markers"


def test_whole_nodes_of_as_many_devices_stay_on_an_axis_of_nodes(folder: Path) -> None:
    scaled(folder / "a.md", [(1, 4), (2, 8), (4, 16)])
    text, scaling, rates, alone = page_and_charts(folder, "a.md")
    assert "efficiency on 4 nodes against 1" in text and "best of each node count" in text
    assert "1.3B: 87% efficiency on 4 nodes" in scaling
    assert any(one.endswith("at best, on 4 nodes") for one in rates)
    assert "Tokens/s a node, against the smallest run" in alone
    assert all("Nodes" in drawn for drawn in (scaling, rates, alone))


def test_as_many_devices_on_more_nodes_are_a_line_of_their_own(folder: Path) -> None:
    scaled(folder / "a.md", [(1, 4), (2, 8), (4, 16), (1, 8), (2, 16)])
    _, scaling, rates, alone = page_and_charts(folder, "a.md")
    for drawn in (scaling, rates):
        assert {"Devices", "4 processes a node", "8 processes a node"} <= set(drawn)
    assert "Devices" in alone and len([one for one in alone if one.startswith("1.3B, ")]) == 2


def test_what_has_no_place_on_the_axis_of_devices_is_said(folder: Path) -> None:
    """How many devices the nodes of the first table have, nothing states."""
    nodes = "| Nodes | DP | MBS | GBS | Sec/it |\n|--|--|--|--|--|\n"
    rows = "".join(f"| {n} | {8 * n} | 1 | 512 | {64 / n} |\n" for n in (1, 2, 4))
    chips = "| Chips | MBS | GBS | Sec/it |\n|--|--|--|--|\n"
    more = "".join(f"| {n} | 1 | 512 | {64 / n} |\n" for n in (8, 16))
    (folder / "a.md").write_text(
        f"# 1.3B on H100, sequence length 2048\n\n{nodes}{rows}\n"
        f"# 1.3B on TPU v4, sequence length 2048\n\n{chips}{more}"
    )
    done = quick(folder, "chart", "efficiency", "a.md", "-o", "a.svg")
    assert done.code == 0 and "Not drawn: 1 group without a number of devices" in done.err
    assert "1.3B on TPUv4, GBS 512: 100% efficiency on 16 devices" in words(folder / "a.svg")
    text = page_and_charts(folder, "a.md")[0]
    assert text.count("Not drawn: 3 runs without a number of devices.") == 2
