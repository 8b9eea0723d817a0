"""The measure of truth sees what is read right, wrong, not at all, and where there is nothing."""

import json
from pathlib import Path

from tests.truth import Truth, measure, table


def test_documents_of_the_repository(data: Path) -> None:
    found = measure(data / "golden" / "golden.json", data / "tables")
    assert len(found) == 5
    for one in found.values():
        assert one.tables_read == one.tables and not one.invented
        assert not one.wrong.total() and not one.empty.total(), one.differences[:10]
    [*_, total] = table(found)
    assert total.startswith("| all | 40 of 40 | 1.000 | 1.000 | 1.000 |")


def changed(data: Path, folder: Path) -> Truth:
    """The first document, with a golden reading that differs from it in three values."""
    golden = json.loads((data / "golden" / "golden.json").read_text("utf-8"))
    document = golden["documents"][0]
    rows = document["tables"][0]["rows"]
    rows[0]["record"]["tp"] = 64  # another value stands there
    rows[1]["record"]["vpp"], rows[1]["field_class"]["vpp"] = 2, "cell"  # nothing stands there
    last = rows.pop()  # the document has a row that the reading has not
    # One row is a run without a label, one is labelled as a run of a wide table.
    unlabelled, wide = rows.pop()["line"], rows.pop()
    document["tables"][0] |= {
        "rows": rows,
        "last_line": last["line"],
        "unlabelled_lines": [unlabelled],
    }
    settings = {name: wide["record"][name] for name in ("nodes", "tp", "pp")}
    entry = {"lines": [document["tables"][0]["header_line"], wide["line"]], "column": 2}
    document["wide"] = [{**entry, **settings, "tp": 64, "accept": {"mbs": [-1]}}]
    document["anomalies"] = [{"lines": [rows[2]["line"]], "grade": "error"}]
    (folder / "golden.json").write_text(json.dumps({"documents": [document]}))
    [one] = measure(folder / "golden.json", data / "tables").values()
    return one


def test_what_differs_is_seen(data: Path, tmp_path: Path) -> None:
    found = changed(data, tmp_path)
    assert (found.wrong["cell"], found.empty["cell"], found.invented) == (2, 1, 1)
    assert found.wrong["far"] == 1  # a value that is given need not be, but may not be wrong
    assert any("column 2 tp: 64 read as" in line for line in found.differences)
    assert found.share("cell") < 1
    assert any("tp: 64 read as 1 (cell)" in line for line in found.differences)
    assert any("vpp: 2 not read (cell)" in line for line in found.differences)
    assert (found.contradictions, found.contradictions_found) == (1, 0)
    assert found.errors.total() > found.errors_true.total() == 0
