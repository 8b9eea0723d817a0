"""Parts of SQL generated from the declared fields, so that no file lists them by hand.

A line `{{annotated TABLE as ALIAS, but NAME, NAME}}` of a view stands for the columns of a raw
table that may be annotated, each as the source states it, else as the annotation that counts.
A slot within a line stands for names of fields, with commas between them and some left out:

    {{configuration, but NAME, NAME}}  the fields of a configuration, as sources state them
    {{compared, but NAME, NAME}}       the same where runs are compared, derived
    {{words, but NAME}}                texts that listings show
    {{counts as TYPE, but NAME}}       whole numbers that listings show; `as TYPE` casts each
    {{metrics}}                        the joins of every metric, by run_id; each reads the object
                                       with its view's name there, which may be a CTE

`{{experts}}` stands for the pattern of names of models with experts (vocabulary/experts.py), and
`{{job variables}}` for the names of variables that are no settings (vocabulary/job_variables.toml).
A line `{{device peaks}}` stands for a row of each device and number format of hardware.toml.

The SQL for DuckDB: `bench sql "SELECT sql FROM duckdb_views() WHERE view_name = 'configurations'"`.
"""

from __future__ import annotations

import re
from importlib.resources import files

from ..vocabulary.experts import experts_pattern
from ..vocabulary.fields import Field, compared, configuration, fields, stored
from ..vocabulary.hardware import devices
from ..vocabulary.job_variables import job_variables
from .catalogue import metrics

METRICS = "{{metrics}}"
_ANNOTATED = re.compile(r"^( *)\{\{annotated (\w+) as (\w+), but ([\w, ]+)\}\}$", re.M)
_NAMES = re.compile(
    r"\{\{(configuration|compared|words|counts)(?: as (\w+))?(?:, but ([\w, ]+))?\}\}"
)

_PEAKS = "{{device peaks}}"
_EXPERTS = "{{experts}}"
_JOB_VARIABLES = "{{job variables}}"
_SOURCES = ("fields.toml", "hardware.toml", "job_variables.toml")


def declarations() -> str:
    """The sources of the slots as text: views change with it."""
    folder = files("bench.vocabulary")
    texts = [folder.joinpath(name).read_text("utf-8") for name in _SOURCES]
    return "".join([*texts, experts_pattern()])


def expand(text: str) -> str:
    """SQL with its slots filled."""
    if METRICS in text:
        text = text.replace(METRICS, _joins())
    text = _NAMES.sub(_names, _ANNOTATED.sub(_annotated, text))
    text = text.replace(_EXPERTS, experts_pattern())
    if _JOB_VARIABLES in text:
        text = text.replace(_JOB_VARIABLES, ", ".join(f"'{name}'" for name in job_variables()))
    return text.replace(_PEAKS, _device_peaks()) if _PEAKS in text else text


def _device_peaks() -> str:
    rows = []
    for place, device in enumerate(devices(), 1):
        # DuckDB's patterns have no look-around.
        names = "|".join(device.names).replace("(?![A-Za-z0-9])", "(?:$|[^A-Za-z0-9])")
        head = f"{place}, '{device.name}', '{device.family}', '(?i)(?:^|[^A-Za-z0-9])(?:{names})'"
        peaks = [f"'{dtype}', {peak}" for dtype, peak in device.peak.items()]
        rows += [f"    ({head}, {peak})" for peak in peaks or ["NULL::VARCHAR, NULL::DOUBLE"]]
    return ",\n".join(rows)


def _joins() -> str:
    """The joins of every metric, so that a new one becomes a column of results."""
    return " ".join(
        f"LEFT JOIN (SELECT run_id, {metric.selected} FROM ({metric.query})) USING (run_id)"
        for metric in metrics()
    )


def _annotated(slot: re.Match[str]) -> str:
    indent, table, alias, others = slot.groups()
    special = set(others.split(", "))
    return "\n".join(
        f"{indent}coalesce({alias}.{field.name}, {_stated(field)}) AS {field.name},"
        for field in stored(table)
        if "user" in field.stated_by and field.name not in special
    )


def _stated(field: Field) -> str:
    value = f"u.annotated['{field.name}']"
    return value if field.type == "VARCHAR" else f"try_cast({value} AS {field.type})"


def _names(slot: re.Match[str]) -> str:
    kind, cast, others = slot.groups()
    special = (others or "").split(", ")
    names = (name for name in _listed(kind) if name not in special)
    return ", ".join(f"{name}::{cast} AS {name}" if cast else name for name in names)


def _listed(kind: str) -> list[str]:
    if kind == "configuration":
        return [field.name for field in configuration()]
    if kind == "compared":
        return [*compared()]
    types = ("VARCHAR",) if kind == "words" else ("INTEGER", "BIGINT")
    return [field.name for field in fields().values() if field.shown and field.type in types]
