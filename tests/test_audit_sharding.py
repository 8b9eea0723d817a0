"""Tables of sharded training, and of models whose shape is told in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.auditing import audited

HEAD = "| GPUs | {} | TP | GBS | Step time (s) |\n|--|--|--|--|--|\n"
FINE = ((8, 8, 1), (16, 16, 1), (32, 16, 2), (64, 32, 2))


def graded(
    folder: Path, rows: tuple[tuple[int, int, int], ...], head: str
) -> list[tuple[str, str]]:
    """Grade and suggestion of what is said of shards."""
    text = HEAD.format(head) + "".join(
        f"| {gpus} | {shards} | {tp} | {8 * gpus} | {7 + gpus / 100} |\n"
        for gpus, shards, tp in rows
    )
    (folder / "x.md").write_text(text)
    found = [one for one in audited(folder / "x.md") if one["rule"] == "R2c"]
    return [(one["severity"], one["suggestion"]) for one in found]


@pytest.mark.parametrize("head", ["FSDP", "Sharding degree", "HSDP"])
def test_shards_and_tp_divide_the_devices(tmp_path: Path, head: str) -> None:
    assert graded(tmp_path, FINE, head) == []
    assert graded(tmp_path, (*FINE, (128, 32, 2)), head) == [], "two copies of the shards"
    assert graded(tmp_path, (*FINE, (64, 32, 4)), head) == [
        ("error", "shards=16, or TP=2, or GPUs=128")
    ]
    assert [one for one, _ in graded(tmp_path, ((64, 32, 4),), head)] == ["warning"]
    rest = ((8, 16, 1), (16, 32, 1))  # a table that mostly does otherwise counts otherwise
    assert graded(tmp_path, (*FINE[:2], *rest), head) == []


def test_many_labels_off_alike_are_another_kind_of_model(tmp_path: Path) -> None:
    head = "| Size | Layers | Hidden | Heads | GPUs | TFLOPs |\n|--|--|--|--|--|--|\n"
    gated = ((18, 32, 4096), (34, 40, 5120), (160, 80, 8192), (240, 96, 9216))
    rows = "".join(f"| {b}B | {n} | {h} | {h // 128} | 64 | 400 |\n" for b, n, h in gated)
    (tmp_path / "x.md").write_text(head + rows)
    found = [one for one in audited(tmp_path / "x.md") if one["rule"] == "R11"]
    assert [one["severity"] for one in found] == ["note"]
    fits = [(12e-9 * n * h * h * (2 if n == 80 else 1), n, h) for _, n, h in gated]
    one_off = "".join(f"| {b:.1f}B | {n} | {h} | {h // 128} | 64 | 400 |\n" for b, n, h in fits)
    (tmp_path / "x.md").write_text(head + one_off)
    found = [one for one in audited(tmp_path / "x.md") if one["rule"] == "R11"]
    assert [(one["severity"], one["line"]) for one in found] == [("warning", 5)]


def test_dp_and_tp_divide_the_devices_where_pp_is_not_stated(tmp_path: Path) -> None:
    head = "| GPUs | DP | TP | GBS | Step time (s) |\n|--|--|--|--|--|\n"
    rows = ((16, 2, 8), (32, 4, 8), (64, 4, 8), (64, 16, 8))
    text = head + "".join(f"| {w} | {dp} | {tp} | 512 | {99 / w:.2f} |\n" for w, dp, tp in rows)
    (tmp_path / "x.md").write_text(text)
    found = [one for one in audited(tmp_path / "x.md") if one["severity"] == "error"]
    assert [(one["rule"], one["line"]) for one in found] == [("R2", 6)]
    assert "DP x TP = 128 does not divide 64" in found[0]["evidence"]


@pytest.mark.parametrize("head", ["EP", "Expert parallel", "EP size"])
def test_dp_may_count_the_copies_of_each_expert(tmp_path: Path, head: str) -> None:
    top = f"| GPUs | TP | PP | CP | {head} | DP | MBS | GBS | GA | Step time (s) |\n{'|--' * 10}|\n"
    rows = ((64, 1, 2), (512, 8, 2), (1024, 8, 2), (2048, 8, 2))
    text = top + "".join(
        f"| {n} | 4 | {pp} | {cp} | 8 | {n // (32 * pp * cp)} | 1 | {n // pp // cp * 32} | 128"
        f" | {20 + n / 999:.2f} |\n"
        for n, pp, cp in rows
    )
    (tmp_path / "x.md").write_text(text)
    assert [one for one in audited(tmp_path / "x.md") if one["rule"][:2] == "R2"] == []


def test_a_plan_that_does_not_add_up_is_no_error(tmp_path: Path) -> None:
    rows = ((8, 64), (16, 128), (32, 256), (64, 512), (128, 512))
    for result, grade in (("", "warning"), (" 2.5 |", "error")):
        head = "| GPUs | DP | TP | PP | MBS | GA | GBS |" + (" Step time (s) |" if result else "")
        cells = (f"| {n} | {n} | 1 | 1 | 1 | 8 | {gbs} |{result}" for n, gbs in rows)
        text = "\n".join(("# Training", head, "|--" * head[1:].count("|") + "|", *cells))
        (tmp_path / "x.md").write_text(text + "\n")
        found = [one for one in audited(tmp_path / "x.md") if one["rule"] == "R2b"]
        assert [(one["severity"], one["line"]) for one in found] == [(grade, 8)]


def test_accumulation_may_count_local_batches(tmp_path: Path) -> None:
    rows = ((8, 1, 64), (16, 1, 128), (32, 1, 256), (64, 1, 512), (128, 8, 8192))
    for second, count in (("LBS", 0), ("Remark", 1)):
        head = f"| GPUs | DP | TP | PP | MBS | {second} | GA | GBS | Step time (s) |"
        cells = (f"| {n} | {n} | 1 | 1 | 1 | {local} | 8 | {gbs} | 2.5 |" for n, local, gbs in rows)
        (tmp_path / "x.md").write_text("\n".join(("# Training", head, "|--" * 9 + "|", *cells, "")))
        assert [one["rule"] for one in audited(tmp_path / "x.md")].count("R2b") == count


@pytest.mark.parametrize(
    ("device", "memory", "grades"),
    [
        ("H100", "82.4 GiB", []),  # there are some of 94 and 96 GB
        ("H200", "145.2 GiB", ["warning"]),
        ("H100 80GB", "82.4 GiB", ["error"]),
        ("H100-96GB", "82.4 GiB", []),
        ("A100", "60 GiB", []),
    ],
)
def test_a_bare_name_does_not_tell_how_much_memory_there_is(
    tmp_path: Path, device: str, memory: str, grades: list[str]
) -> None:
    text = "| GPU | GPUs | Step time (s) | Memory |\n|--|--|--|--|\n"
    (tmp_path / "x.md").write_text(f"{text}| {device} | 8 | 2.5 | {memory} |\n")
    found = [one for one in audited(tmp_path / "x.md") if one["rule"] == "R5c"]
    assert [one["severity"] for one in found if "more memory" in one["message"]] == grades


def test_a_device_that_the_document_names_elsewhere_may_be_another(tmp_path: Path) -> None:
    table = "| GPUs | Step time (s) | Memory |\n|--|--|--|\n| 8 | 2.5 | 82.4 GiB |\n"
    texts = {
        "error": f"On H100 80GB:\n\n{table}",
        "warning": f"{table}\n## Fits\n\n- an H100 80GB\n",
    }
    for grade, text in texts.items():
        (tmp_path / "x.md").write_text(f"# Training\n\n## Results\n\n{text}")
        found = [one["severity"] for one in audited(tmp_path / "x.md") if one["rule"] == "R5c"]
        assert found == [grade]


def test_sharded_copies_may_count_as_one(tmp_path: Path) -> None:
    """argonne-lcf/Megatron-DeepSpeed ALCF/notes/AuroraGPT-70B.md counts DP 1 under ZeRO-3."""
    head = (
        "| GPUs | PP | DP | TP | MBS | GAS | GBS | ZeRO | TFLOPS |\n|--|--|--|--|--|--|--|--|--|\n"
    )
    rows = (
        "| 48 | 1 | 1 | 1 | 1 | 2 | 96 | {0} | 70 |\n| 72 | 1 | 1 | 1 | 1 | 2 | 144 | {0} | 71 |\n"
    )
    found = []
    for stage in (3, 1):
        (tmp_path / "x.md").write_text(head + rows.format(stage))
        found.append([one["rule"] for one in audited(tmp_path / "x.md")].count("R2b"))
    assert found == [0, 2]


def test_a_job_may_use_a_part_of_one_node(tmp_path: Path) -> None:
    head = "| Nodes | GPUs | GBS | Sec/it |\n|--|--|--|--|\n"
    rows = ["1 | 1 | 64 | 62.0", "1 | 8 | 64 | 9.0", "2 | 16 | 64 | 4.6", "4 | 32 | 64 | 2.4"]

    def doubted(*rows: str) -> list[int]:
        (tmp_path / "x.md").write_text(head + "".join(f"| {row} |\n" for row in rows))
        return [one["line"] for one in audited(tmp_path / "x.md") if one["rule"] == "R2"]

    assert doubted(*rows) == []
    assert doubted(*rows[1:], "4 | 4 | 64 | 16.0") == [6], "a part of each of several"
    assert doubted(*rows[1:], "1 | 16 | 64 | 4.8") == [6], "more than a node has"
