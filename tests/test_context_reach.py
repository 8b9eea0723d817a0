"""How far a line of a document reaches: to which tables and rows."""

from tests.reaching import FORMULA, TABLE, reached


def test_the_inner_heading_wins() -> None:
    outer, inner = "# Runs, Sequence Length=1024, bf16", "## Sequence Length=2048"
    text = f"{outer}\n\n{TABLE}\n{inner}\n\n{TABLE}\n# Other\n\n{TABLE}"
    first, second, third = reached(text)
    assert (first["seq_len"], first["dtype"]) == ("1024", "bf16")
    assert (second["seq_len"], second["dtype"]) == ("2048", "bf16")
    assert "seq_len" not in third or third["seq_len"] != "2048"


def test_what_all_devices_are_holds_above_and_below() -> None:
    text = f"# Runs\n\n{TABLE}\nThe devices are all NVIDIA A100-SXM4-40GB.\n\n{TABLE}"
    assert [facts["device"] for facts in reached(text)] == ["A100-SXM4-40GB"] * 2
    [facts] = reached(f"# Runs\n\n{TABLE}\nAll GPUs are A100 or H100.\n")
    assert "device" not in facts


def test_a_line_holds_until_it_is_replaced() -> None:
    text = f"NLAYERS=72\nNHIDDEN=14336\n\n{TABLE}\nwords\n\n{TABLE}\nNLAYERS=84\n\n{TABLE}"
    assert [(facts["layers"], facts["hidden"]) for facts in reached(text)] == [
        ("72", "14336"),
        ("72", "14336"),
        ("84", "14336"),
    ]


def test_a_section_ends_what_was_stated_in_it() -> None:
    first, second = reached(f"# A\n\n## B\n\nNLAYERS=72\n\n{TABLE}\n## C\n\n{TABLE}")
    assert first["layers"] == "72"
    assert "layers" not in second


def test_an_overview_holds_for_what_follows() -> None:
    overview = "## Overview\n### Model hyperparameters\n- --num-layers 24"
    text = f"# Runs\n\n{overview}\n\n## Experiments\n\n### X\n{TABLE}"
    assert reached(text)[0]["layers"] == "24"


def test_above_too() -> None:
    text = f"## A\n\n{TABLE}\n## B\n\nall NHEADS=64 (above too)\n\n{TABLE}\n## C\n\n{TABLE}"
    first, second, third = reached(text)
    assert (first["heads"], second["heads"]) == ("64", "64")
    assert "heads" not in third


def test_settings_of_a_size_reach_rows_of_it_alone() -> None:
    text = f"20B model: NLAYERS=8, GBS=512\n\n200B model: NLAYERS=80, GBS=2048\n\n{TABLE}"
    assert reached(text, 20.0)[0]["layers"] == "8"
    assert reached(text, 200.0)[0]["gbs"] == "2048"
    assert "layers" not in reached(text, 13.0)[0]


def test_a_formula_is_of_the_table_above_it() -> None:
    first, second = reached(
        f"# A\n\n{TABLE}{FORMULA.format(4)}"
        f"w/o activation checkpointing\n\n{TABLE}{FORMULA.format(3)}"
    )
    assert (first["gbs"], first["recompute"]) == ("512", "full")
    assert second["recompute"] == "none"


def test_a_formula_is_of_both_parts_of_a_table() -> None:
    first, second = reached(f"# A\n\n{TABLE}\ncontinued:\n\n{TABLE}{FORMULA.format(4)}")
    assert first["gbs"] == second["gbs"] == "512"


def test_a_table_goes_on_with_what_was_said_above_its_first_part() -> None:
    first, second, other = reached(
        f"# A\n\n200B, with ZeRO-1:\n\n{TABLE}\ncontinued:\n\n{TABLE}\nNLAYERS=72\n\n{TABLE}"
    )
    assert first["size"] == second["size"] == "200B"
    assert "size" not in other


def test_once_for_the_whole_document() -> None:
    text = f"# A100 experiments\n\n{TABLE}\n# B\n\nSEQ_LEN=2048\n\n{TABLE}"
    assert [facts.get("device") for facts in reached(text)] == ["A100", "A100"]
    assert [facts.get("seq_len") for facts in reached(text)] == ["2048", "2048"]


def test_what_is_contradicted_reaches_nobody() -> None:
    text = f"# A\n\n{TABLE}\n# B\n\nSEQ_LEN=2048\n\n{TABLE}\n# C\n\nSEQ_LEN=1024\n\n{TABLE}"
    assert [facts.get("seq_len") for facts in reached(text)] == [None, "2048", "1024"]
    text = (
        f"# A\n\n{TABLE}\nthe V100 32GB peaks at 125\n\nOn A100 all is faster than on V100 32GB.\n"
    )
    assert "device" not in reached(text)[0]


def test_nodes_of_another_memory_size() -> None:
    launch = "# G\n\nadd `-C v100-32g` for these nodes"
    text = f"{launch}\n\n16GB nodes:\n\n{TABLE}\n## H\n\n32GB nodes:\n\n{TABLE}"
    assert [facts.get("device") for facts in reached(text)] == ["V100-16GB", "V100-32GB"]
