"""SARIF against the object model that its authors generated from the official 2.1.0 schema.

The schema itself lies on a web server and in no package that can be a dependency; `sarif-om` has
its classes, property names and required properties.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attr
import pytest
import sarif_om

from tests.program import quick

# Property -> class, where the value is an object or a list of them.
CLASSES = {
    "runs": sarif_om.Run,
    "tool": sarif_om.Tool,
    "driver": sarif_om.ToolComponent,
    "rules": sarif_om.ReportingDescriptor,
    "shortDescription": sarif_om.MultiformatMessageString,
    "fullDescription": sarif_om.MultiformatMessageString,
    "defaultConfiguration": sarif_om.ReportingConfiguration,
    "results": sarif_om.Result,
    "message": sarif_om.Message,
    "locations": sarif_om.Location,
    "relatedLocations": sarif_om.Location,
    "physicalLocation": sarif_om.PhysicalLocation,
    "artifactLocation": sarif_om.ArtifactLocation,
    "region": sarif_om.Region,
    "suppressions": sarif_om.Suppression,
    "invocations": sarif_om.Invocation,
    "toolExecutionNotifications": sarif_om.Notification,
    "properties": sarif_om.PropertyBag,
}
ENUMS = {
    "level": {"none", "note", "warning", "error"},
    "kind": {"inSource", "external"},
    "columnKind": {"utf16CodeUnits", "unicodeCodePoints"},
    "version": {"2.1.0"},
}


def problems(value: Any, kind: type, path: str = "$") -> Iterator[str]:  # Any: JSON
    """What the model does not allow: unknown or missing properties, in objects of known classes."""
    if kind is sarif_om.PropertyBag:
        return
    fields = {one.metadata["schema_property_name"]: one for one in attr.fields(kind)}
    for name in fields.keys() - value.keys():
        if fields[name].default is attr.NOTHING:
            yield f"{path}: {name} is missing"
    for name, item in value.items():
        at = f"{path}.{name}"
        if name not in fields:
            yield f"{at}: not known to {kind.__name__}"
        elif name in ENUMS and item not in ENUMS[name]:
            yield f"{at}: {item!r}"
        elif name in CLASSES:
            for number, one in enumerate(item if isinstance(item, list) else [item]):
                yield from problems(one, CLASSES[name], f"{at}[{number}]")
        else:
            assert not isinstance(item, dict), f"{at} has no class here"


@pytest.fixture
def log(root: Path, folder: Path) -> dict[str, Any]:
    for name in ("001_1.3b_benchmarking.md", "002_chronicles-prequel.md"):
        (folder / name).write_bytes((root / "data" / "tables" / name).read_bytes())
    (folder / "facts.toml").write_text(
        '[[fact]]\nmatch = { rule = "R6" }\nfield = "finding"\nvalue = "exception"\n'
        'reason = "x"\nauthor = "y"\ndate = 2026-01-01\n'
    )
    made: dict[str, Any] = json.loads(quick(folder, "audit", ".", "--format", "sarif").out)
    return made


def test_every_property_is_one_of_the_standard(log: dict[str, Any]) -> None:
    assert "sarif-schema-2.1.0.json" in log.pop("$schema")
    assert list(problems(log, sarif_om.SarifLog)) == []
    kinds = {result["level"] for result in log["runs"][0]["results"]}
    assert kinds == {"error", "warning", "note"}
    assert any("suppressions" in result for result in log["runs"][0]["results"])


def test_the_check_finds_what_is_wrong(log: dict[str, Any]) -> None:
    del log["$schema"]
    first = log["runs"][0]["results"][0]
    first["severity"] = first.pop("level")
    del first["message"]
    log["runs"][0]["columnKind"] = "bytes"
    found = "\n".join(problems(log, sarif_om.SarifLog))
    assert re.search("severity: not known to Result", found)
    assert "message is missing" in found and "columnKind: 'bytes'" in found


def test_regions_follow_the_rules_of_the_standard(log: dict[str, Any]) -> None:
    for result in log["runs"][0]["results"]:
        for place in (*result["locations"], *result.get("relatedLocations", ())):
            region = place["physicalLocation"]["region"]
            assert region["startLine"] >= 1 and region.get("startColumn", 1) >= 1
            assert region.get("endColumn", 10**6) >= region.get("startColumn", 1)
