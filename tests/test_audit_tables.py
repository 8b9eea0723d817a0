"""Tables of other groups: what must not be called an error, and what must."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.auditing import audited
from tests.program import quick

HEAD = (
    "| Nodes | DP | TP | PP | MBS | GBS | Mem (GB) | Sec/it | TFLOPs | {} |\n" + "|--" * 10 + "|\n"
)


@pytest.mark.parametrize(
    ("heading", "texts"),
    [("Offload", ("none", "optimizer")), ("Notes", ("ZeRO-1", "ZeRO-3")), ("Seed", ("12", "34"))],
)
def test_rows_that_another_column_tells_apart(
    tmp_path: Path, heading: str, texts: tuple[str, str]
) -> None:
    """What we do not understand may be why two rows are alike, or need less memory."""
    alike = [f"| 8 | 8 | 4 | 2 | 1 | 512 | 40 | 12.31 | 141.2 | {text} |" for text in texts]
    less = [
        f"| 8 | 8 | 4 | 2 | {mbs} | 512 | {memory} | {12.3 - mbs} | {141.2 + mbs} | {text} |"
        for mbs, memory, text in ((1, 62, texts[0]), (2, 44, texts[1]))
    ]
    for name, rows in (("alike.md", alike), ("less.md", less if heading != "Seed" else alike)):
        (tmp_path / name).write_text(HEAD.format(heading) + "\n".join(rows) + "\n")
        found = [one for one in audited(tmp_path / name) if one["severity"] == "error"]
        assert not found, found
    same = HEAD.format(heading) + "\n".join([alike[0], alike[0]]) + "\n"
    (tmp_path / "same.md").write_text(same)
    assert [one["rule"] for one in audited(tmp_path / "same.md")] == ["R6"]


def test_shares_of_the_peak_end_at_it(tmp_path: Path) -> None:
    text = "| GPUs | Step time (s) | GBS | MFU (%) |\n|--|--|--|--|\n"
    (tmp_path / "x.md").write_text(
        text + "| 64 | 2.62 | 256 | 41.6 |\n| 128 | 1.33 | 256 | 170.1 |\n"
    )
    [found] = [one for one in audited(tmp_path / "x.md") if one["severity"] == "error"]
    assert (found["rule"], found["line"]) == ("R1b", 4)


def test_aggregates_are_divided_as_the_table_does(tmp_path: Path) -> None:
    rows = [(64, 163.0, 10.43), (128, 160.0, 20.48), (256, 161.0, 41.22), (512, 158.0, 8.09)]
    text = "| Nodes | TP | Sec/it | TFLOPs | Est. Aggr. PetaFLOPs |\n|--|--|--|--|--|\n"
    text += "".join(f"| {n} | 8 | {n / 10} | {rate} | {total} |\n" for n, rate, total in rows)
    (tmp_path / "x.md").write_text(text)
    [found] = [one for one in audited(tmp_path / "x.md") if one["rule"] == "R3"]
    assert found["line"] == 6 and "80.9" in found["suggestion"] and "/ 1000" in found["evidence"]


@pytest.mark.parametrize(
    ("comment", "open_"),
    [("<!-- bench audit: ok R1b l.4: sparse peak -->", 0), ("<!-- bench audit: ok R1b l.4 -->", 1),
     ("```\n<!-- bench audit: ok R1b l.4: an example -->\n```", 1)],
)  # fmt: skip
def test_a_comment_closes_with_a_reason(tmp_path: Path, comment: str, open_: int) -> None:
    text = "| GPUs | Step time (s) | GBS | MFU (%) |\n|--|--|--|--|\n| 64 | 2.62 | 256 | 41.6 |\n"
    (tmp_path / "x.md").write_text(f"{text}| 128 | 1.33 | 256 | 170.1 |\n\n{comment}\n")
    assert quick(tmp_path, "audit", "x.md").code == open_


def test_rates_of_another_kind_of_device_show_no_swap(tmp_path: Path) -> None:
    rows = [("H100", 1.2, 410.5), ("H100", 1.3, 402.5), ("H100", 1.4, 398.5), ("A40", 311.5, 21.5)]
    text = "| GPU | GPUs | TP | Sec/it | TFLOPs |\n|--|--|--|--|--|\n"
    text += "".join(f"| {name} | 8 | 1 | {time} | {rate} |\n" for name, time, rate in rows)
    (tmp_path / "x.md").write_text(text)
    assert "R6c" not in {one["rule"] for one in audited(tmp_path / "x.md")}


def test_a_heading_that_is_missing_shifts_no_cell(tmp_path: Path) -> None:
    head = "| Run | GPUs | Tokens/s | Script |\n|--|--|--|--|\n"
    rows = ["| 1 | 8 | 160k | a.py | prepare.py |\n", "| 2 | 8 | 170k | b.py | prepare.py |\n"]
    page = tmp_path / "x.md"
    for text, severity in (("".join(rows), "warning"), (rows[0] + rows[1][:24] + "\n", "error")):
        page.write_text(f"# Training\n\n{head}{text}")
        found = [one["severity"] for one in audited(page) if one["rule"] == "R9"]
        assert found == [severity], text


def test_words_in_place_of_all_results_shift_no_cell(tmp_path: Path) -> None:
    head = "| Run | GPUs | ms/iter | sd | TFLOP/s/GPU |\n|--|--|--|--|--|\n"
    row = "| base | 8 | 7915.6 | 47.8 | 753.5 |\n"
    odd = "| fused | 8 | argument validation exit (stage 1 is on) | | |\n"
    page = tmp_path / "x.md"
    page.write_text(f"# Training\n\n{head}{row * 4}{odd}")
    assert "R9" not in {one["rule"] for one in audited(page)}


def test_a_result_with_a_remark_is_in_its_place(tmp_path: Path) -> None:
    head = "| Size | MBS | Step time | Run time |\n|--|--|--|--|\n"
    rows = "| 43M | 32 | 0.26s (alone) / 0.47s (two) | 15 |\n"
    rows += "| 143M | 32 | 0.58s → saves ~0.8s | 12 |\n"
    (tmp_path / "x.md").write_text(f"# Training\n\n{head}{rows}| 143M | 16 | 1.07s | 9 |\n")
    assert not [one for one in audited(tmp_path / "x.md") if one["rule"] == "R9"]
