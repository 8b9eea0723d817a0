"""Columns of tables under unknown headings that distinguish configurations.

So do words and pairs under a heading of numbers, `auto` among tensor-parallel sizes or `4 / 16`,
and an unknown kind of recompute, such as `offload`; this one under the name of the field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..ingest.documents.techniques import recompute_named
from ..ingest.documents.variables import variable_of
from ..schema.warehouse import Warehouse
from ..vocabulary.fields import fields
from ..vocabulary.hardware import device_pattern
from ..vocabulary.headings import batch_in_tokens, unread_results
from ..vocabulary.headings import columns as known_columns
from ..vocabulary.sizes import giga_of, parse_size

_CELLS = """
    SELECT t.table_id, trim(t.headings[c.column_number]) AS heading, c.raw, s.run_id, c.name,
        t.table_id IN (SELECT table_id FROM cells WHERE name = 'gbs') AS has_batch
    FROM cells c JOIN tables t ON t.table_id = c.table_id
    LEFT JOIN {runs} s ON s.table_id = c.table_id AND s.row_number = c.row_number
    WHERE (c.name IS NULL OR c.kind IN ('words', 'pair')
            OR (c.name = 'recompute' AND c.kind = 'text'))
        AND t.number IS NOT NULL
        AND (trim(t.headings[c.column_number]) <> '' OR c.column_number = 1)
    ORDER BY t.table_id, c.column_number, c.row_number"""
_DRESS = re.compile(r"[*`†‡]|\[\^[\w-]{1,20}\]")
_MISSING = re.compile(r"[-/]*|–|—|n/?a|\?+|tbd", re.I)
_SIZE = re.compile(r"[\d.]+\s?[BM]\d*", re.I)
_NUMBER = re.compile(
    r"[~≈<>]?\s*[-+]?\d[\d,]*(?P<point>\.\d+)?(?:e[-+]?\d+)?\s*(?:[^\W\d_][^\W\d_/]*(?:/\w+)?|%)?",
    re.I,
)

# The machine in the name of a row is read elsewhere; the rest distinguishes the row.
_OF_MACHINES = re.compile(
    r"\b(?:nvidia|amd|intel|google|huawei)\b|(?<!\w)[x×*]\s?\d{1,6}\b|\b\d{1,6}\s?[x×*](?!\w)"
    r"|\b\d{1,6}\s?(?:gpu|node|device|chip|card|host|npu|tpu)s?\b",
    re.I,
)
ROW = "row"  # the name of a setting that no heading names
_PAIR = re.compile(r"(?<!\w)([A-Za-z]\w{0,40}+)\s?[=:]\s?([-\w.]{1,40}+)")
_PAIRS = re.compile(rf"[(\[{{]?{_PAIR.pattern}(?:[,;]\s?{_PAIR.pattern}){{0,20}}[)\]}}]?")
_LINK = re.compile(r"\[[^\[\]]{1,80}\]\(|https?://")
_DIFFERENCE = re.compile(r"[-+−]\s?\d[\d.,]*\s?%")  # from another column
_BEGINS_WITH_NUMBER = re.compile(r"[~≈<>]?\s*\d")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Headings of these words alone are names of jobs, remarks, or how a run went.
_OF_A_JOB = _words(
    """job jobs jobid run runs runid id ids trial repeat repeats repetition rep seed attempt index
    no nr num number of name user author owner host hosts hostname hostnames hostlist nodelist node
    list link links url log logs file wandb started start ended end finished begin time timestamp
    when comment comments remark remarks note notes observation observations reason conclusion
    verdict result results ok exit code rank place fit fits fitted loaded loads works worked passed
    passes success succeeded stable converged crashed oom canary canaries"""
)
# Numbers under these are measured, unless the heading marks them as settings.
_MEASURED = _words(
    """loss ppl perplexity accuracy acc score time wall elapsed duration power watt watts w energy
    kwh
    joules j temp temperature c util utilization utilisation efficiency eff speedup scaling cost
    price usd usage std stdev stddev deviation cv variance sigma jitter min max p50 p95 p99 best
    worst
    median mean avg average bandwidth gbps gb mb gib mib s ms sec secs seconds us minutes hours
    days h flops tflops pflops gflops mfu hfu tokens samples steps it iterations mem memory vram
    peak bubble overhead gain change delta diff rel relative vs total achieved measured throughput
    rate speed startup compile load save n count errors retries restarts"""
)
_SET = _words(
    "length len cap limit set target requested bucket buffer size workers threads channels lr"
)
_TOLD = re.compile(r"\S\s+\S|^v\d{1,3}(?:\.\d{1,3}){0,2}\b")  # names of jobs have no blanks
_COUNTED = re.compile(r"(?!v\d)\D{0,20}\d{1,4}|\d{4}-\d\d-\d\d.*", re.I)  # `run 3`
# The same in headings of other scripts, whose words have no blanks between.
_REMARKS = re.compile(
    r"备注|说明|结论|原因|状态|编号|序号|链接|日志|日期|时间戳|任务|作业|비고|설명|備考|説明"
)
# What a loss came to; `cross entropy` under the same heading is a setting.
_WENT = re.compile(
    r"[*`_]*(?:ok|fine|finite|stable|normal|good|nan|inf|diverge\w*|converge\w*|well-behaved)\b.*",
    re.I,
)
_VERSIONS = _words("version cuda rocm nccl rccl driver cudnn python torch triton ratio dropout lr")


def other_columns(warehouse: Warehouse, runs: str = "selected") -> dict[str, dict[str, str]]:
    """By id of the runs of a relation, heading and cell of every column of its table that is a
    setting, though no known one."""
    known = known_columns()
    columns: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    for table, heading, raw, run, name, has_batch in warehouse.rows(_CELLS.format(runs=runs)):
        if has_batch and batch_in_tokens(heading):
            continue  # the batch again, times the sequence length
        if name and known[name].role == "result":
            continue  # the reason why a result is missing
        if name == "recompute":
            if recompute_named(raw, True):
                continue  # it was read
            heading = name
        text = raw if heading else _without_machine(raw)
        columns.setdefault((table, heading or ROW), []).append((text, run))
    found: dict[str, dict[str, str]] = {}
    for (_, heading), cells in columns.items():
        pairs = None if variable_of(heading) else _pairs([raw for raw, _ in cells])
        if pairs:
            _add_pairs(found, known_values(warehouse, runs), cells, pairs)
            continue
        if not is_setting(heading, [raw for raw, _ in cells]):
            continue
        name = _DRESS.sub("", heading).strip()
        for raw, run in cells:
            value = _DRESS.sub("", raw).strip()
            if run is not None and not _MISSING.fullmatch(value):
                found.setdefault(run, {}).setdefault(name, value)
    return found


def _pairs(texts: Sequence[str]) -> list[dict[str, str]] | None:
    """The settings in cells such as `(tp=1, zero1=-1)`; None if a cell is something else."""
    stated = [_DRESS.sub("", text).strip() for text in texts]
    if not any(stated) or not all(
        _MISSING.fullmatch(one) or _PAIRS.fullmatch(one) for one in stated
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


def is_setting(heading: str, cells: Sequence[str]) -> bool:
    """Whether a column that we do not know sets its rows apart: words, or whole numbers under a
    heading that measures nothing. A decimal number is a setting where it recurs."""
    plain = _DRESS.sub("", heading).strip()
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).casefold()
    words = re.findall(r"[a-z0-9]+", re.sub(r"\blearning[ _-]?rate\b", "lr", parts))
    stated = [
        text for cell in cells if not _MISSING.fullmatch(text := _DRESS.sub("", cell).strip())
    ]
    if not stated or variable_of(plain):
        return False
    if not words:  # another script: words set rows apart, and numbers may be measured
        named = re.search(r"[^\W\d_]", plain) and not _REMARKS.search(plain)
        return bool(named) and not all(map(_BEGINS_WITH_NUMBER.match, stated))
    if set(words) <= _OF_A_JOB:
        # A job may be named by its model's size, 1.34G, or by what was changed, in words or as a
        # version.
        if all(giga_of(text) or (_SIZE.fullmatch(text) and parse_size(text)) for text in stated):
            return True
        told = sum(bool(_TOLD.search(text)) for text in stated)
        changes = words in (["name"], ["run"]) and 2 * told > len(stated)
        return changes and not all(map(_COUNTED.fullmatch, stated))
    if all(map(_LINK.match, stated)) or all(map(_DIFFERENCE.match, stated)):
        return False
    numbers = [_NUMBER.fullmatch(text) for text in stated]
    measured = bool(_MEASURED & set(words)) and not _SET & set(words)
    if not all(numbers):  # `8.4 (300B in 1.75 days)` is a number with a remark
        return not (
            measured and all(_BEGINS_WITH_NUMBER.match(one) or _WENT.match(one) for one in stated)
        )
    if measured or unread_results([plain]):
        return False
    # Measured decimals hardly ever recur; settings do, in half of the rows or more.
    decimal = any(number["point"] for number in numbers if number)
    return not decimal or bool(_VERSIONS & set(words)) or 2 * len(set(stated)) <= len(stated)
