"""Columns of tables under unknown headings that distinguish configurations.

So do words and pairs under a heading of numbers, `auto` among tensor-parallel sizes or `4 / 16`,
and an unknown kind of recompute, such as `offload`; this one under the name of the field. And so do
machines whose devices cannot be counted, `10,000+ H100` or `64-128`: two of them are no repeats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..ingest.documents.environment_columns import variable_of
from ..ingest.documents.setting_columns import DRESS, MISSING, is_setting
from ..ingest.documents.techniques import recompute_named
from ..schema.warehouse import Warehouse
from ..vocabulary.cell_words import without_links
from ..vocabulary.fields import fields
from ..vocabulary.hardware import device_pattern
from ..vocabulary.headings import batch_in_tokens
from ..vocabulary.headings import columns as known_columns

_CELLS = """
    SELECT t.table_id, trim(t.headings[c.column_number]) AS heading, c.raw, s.run_id, c.name,
        s.device, t.table_id IN (SELECT table_id FROM cells WHERE name = 'gbs') AS has_batch
    FROM cells c JOIN tables t ON t.table_id = c.table_id
    LEFT JOIN {runs} s ON s.table_id = c.table_id AND s.row_number = c.row_number
    WHERE (c.name IS NULL OR c.kind IN ('words', 'pair')
            OR (c.name = 'recompute' AND c.kind = 'text')
            OR (s.devices IS NULL AND s.nodes IS NULL AND (c.name = 'device'
                OR (c.name IN ('devices', 'nodes', 'ranks')
                    AND c.kind IN ('range', 'text', 'label', 'symbolic')))))
        AND t.number IS NOT NULL
        AND (trim(t.headings[c.column_number]) <> '' OR c.column_number = 1)
    ORDER BY t.table_id, c.column_number, c.row_number"""

# The machine in the name of a row is read elsewhere; the rest distinguishes the row.
_OF_MACHINES = re.compile(
    r"\b(?:nvidia|amd|intel|google|huawei)\b|(?<!\w)[x×*]\s?\d{1,6}\b|\b\d{1,6}\s?[x×*](?!\w)"
    r"|\b\d{1,6}\s?(?:gpu|node|device|chip|card|host|npu|tpu)s?\b",
    re.I,
)
_COUNTING = frozenset(("device", "devices", "nodes", "ranks"))
ROW = "row"  # the name of a setting that no heading names
_PAIR = re.compile(r"(?<!\w)([A-Za-z]\w{0,40}+)\s?[=:]\s?([-\w.]{1,40}+)")
_PAIRS = re.compile(rf"[(\[{{]?{_PAIR.pattern}(?:[,;]\s?{_PAIR.pattern}){{0,20}}[)\]}}]?")


def other_columns(warehouse: Warehouse, runs: str = "selected") -> dict[str, dict[str, str]]:
    """By id of the runs of a relation, heading and cell of every column of its table that is a
    setting, though no known one."""
    known = known_columns()
    columns: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    found: dict[str, dict[str, str]] = {}
    for table, heading, raw, run, name, device, has_batch in warehouse.rows(
        _CELLS.format(runs=runs)
    ):
        if has_batch and batch_in_tokens(heading):
            continue  # the batch again, times the sequence length
        if name and known[name].role == "result":
            continue  # the reason why a result is missing
        if name in _COUNTING:
            if run is not None and (name != "device" or _tells_more(raw, device)):
                found.setdefault(run, {})[_plain(heading)] = _plain(raw)
            continue
        if name == "recompute":
            if recompute_named(raw, True):
                continue  # it was read
            heading = name
        text = raw if heading else _without_machine(raw)
        columns.setdefault((table, heading or ROW), []).append((text, run))
    for (_, heading), cells in columns.items():
        pairs = None if variable_of(heading) else _pairs([raw for raw, _ in cells])
        if pairs:
            _add_pairs(found, known_values(warehouse, runs), cells, pairs)
            continue
        if not is_setting(heading, [raw for raw, _ in cells]):
            continue
        name = _plain(heading)
        for raw, run in cells:
            value = _plain(raw)
            if run is not None and not MISSING.fullmatch(value):
                found.setdefault(run, {}).setdefault(name, value)
    return found


def _plain(text: str) -> str:
    """The words of a cell; of a link its text."""
    return DRESS.sub("", without_links(text)).strip()


def _tells_more(raw: str, device: str | None) -> bool:
    """Whether a cell counts something besides the device that it names: `10,000+ H100`."""
    return _plain(raw) != device and bool(re.search(r"\d", device_pattern().sub(" ", raw)))


def _pairs(texts: Sequence[str]) -> list[dict[str, str]] | None:
    """The settings in cells such as `(tp=1, zero1=-1)`; None if a cell is something else."""
    stated = [_plain(text) for text in texts]
    if not any(stated) or not all(
        MISSING.fullmatch(one) or _PAIRS.fullmatch(one) for one in stated
    ):
        return None
    return [dict(_PAIR.findall(one)) for one in stated]


def _add_pairs(
    found: dict[str, dict[str, str]],
    read: Mapping[str, Mapping[str, object]],
    cells: Sequence[tuple[str, str | None]],
    pairs: Sequence[Mapping[str, str]],
) -> None:
    """Add the settings of such cells, without those that were read as columns of their run."""
    for (_, run), settings in zip(cells, pairs, strict=True):
        if run is not None:
            known = read.get(run, {})
            for name, value in settings.items():
                if str(known.get(name.casefold())) != value:
                    found.setdefault(run, {}).setdefault(name, value)


def known_values(warehouse: Warehouse, runs: str) -> dict[str, dict[str, object]]:
    """The sizes of the rows of tables, by run and column."""
    names = [
        field.name
        for field in fields().values()
        if field.configuration and field.role in ("topology", "batch")
    ]
    listed = ", ".join(names)
    rows = warehouse.rows(f"SELECT run_id, {listed} FROM {runs} WHERE origin = 'row'")
    return {run: dict(zip(names, values, strict=True)) for run, *values in rows}


def _without_machine(text: str) -> str:
    """The name of a row without the machine in it: `(lora)` of `(lora) A100 x4`."""
    rest = " ".join(_OF_MACHINES.sub(" ", device_pattern().sub(" ", text)).split())
    bare = rest[1:-1] if re.fullmatch(r"\([^()]*\)|\[[^\[\]]*\]", rest) else rest
    return bare if re.search(r"[^\W\d_]{2}", bare) else ""
