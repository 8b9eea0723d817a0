"""Tables of one document that measure the same configurations with other results.

They are repeats only if the text says so: `Run 2`, `seed 1`. Else the author changed what no column
states, and names it in a heading, a line in bold or the sentence before the table; with these words
the rows are told apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from ...schema.rows import Row, Rows
from .context_lines import is_caption
from .markdown import TextLine
from .paragraphs import BULLET
from .sections import FoundTable
from .setting_columns import DRESS, MISSING, is_setting

VARIANT = "variant"  # the name of the setting
_LONGEST = 80
_FEWEST = 2  # configurations of a table that is another one's variant without words
_BOLD = re.compile(r"\s*(\*\*|__)[^*_].{0,200}\1[.:]?\s*")
_MARKS = re.compile(r"[*`#]|(?<!\w)_|_(?!\w)|<[^<>]*>")
_NUMBERING = re.compile(r"^\s*(?:\d{1,2}(?:\.\d{1,2}){1,3}\.?|\d{1,2}[.)]|\(?[a-z]\))\s+", re.I)
_REPEAT = re.compile(
    r"\b(?:runs?|trials?|repeats?|repetitions?|replicates?|attempts?|seeds?|tries|try)\b\W{0,3}\d{1,6}\b"
    r"|\b(?:first|second|third|fourth|fifth|another|repeated|\d{1,2}(?:st|nd|rd|th))\s"
    r"(?:runs?|trials?|attempts?|tr(?:y|ies)|measurements?|repeats?)\b"
    r"|\b(?:re-?runs?|repeats?|repeated|repetitions?)\b",
    re.I,
)
# What of a row is no part of its configuration.
_OF_THE_ROW = frozenset(
    re.findall(
        r"\w+",
        "source_id run_id origin table_id row_number line last_line"
        " status status_reason status_line kind flags job_ids notes",
    )
)
_Results = Mapping[tuple[str, str], list[tuple[float, float]]]  # ranges by metric and unit


@dataclass(frozen=True, slots=True)
class _Measured:
    """A table with its runs, and the results of each configuration in it."""

    found: FoundTable
    headings: tuple[str, ...]
    runs: tuple[str, ...]
    results: Mapping[Hashable, _Results]


@dataclass(frozen=True, slots=True)
class _Words:
    """What the text calls a table, and where."""

    text: str
    line: int | None = None

    @property
    def folded(self) -> str:
        """Without the words that tell repeats apart, and however it is punctuated."""
        return re.sub(r"[^\w+]", "", _REPEAT.sub("", self.text)).casefold()


def label_line(lines: Sequence[TextLine], paragraph: Sequence[TextLine]) -> TextLine | None:
    """The line that names the table below it: `lines` since the last heading or table, of which the
    last ones are the paragraph right above."""
    for line in reversed([*lines, *paragraph[-1:]]):
        if _BOLD.fullmatch(BULLET.sub("", line.text)) or is_caption(line.text):
            return line
    if not paragraph:
        return None
    last = paragraph[-1]
    text = last.text.strip()
    announces = text.endswith(":") or (len(paragraph) == 1 and not text.endswith("."))
    return last if announces and len(text) <= 2 * _LONGEST else None


def add_variants(rows: Rows, tables: Sequence[FoundTable]) -> None:
    """Add to the runs of such tables, as a setting, the words that tell these apart."""
    entries = rows.by_table["tables"]
    numbered = [one for one in zip(tables, entries, strict=True) if one[0].number is not None]
    if len(numbered) < 2:
        return
    measured = _measured(rows, numbered)
    for group in _groups(measured):
        for one, words in zip(group, _told_apart([one.found for one in group]), strict=True):
            for run in one.runs if words.text else ():
                rows.add("env_flags", run_id=run, name=VARIANT, value=words.text, kind="table",
                         line=words.line or one.found.table.header.line)  # fmt: skip


def _measured(rows: Rows, tables: Sequence[tuple[FoundTable, Row]]) -> list[_Measured]:
    runs: dict[object, list[Row]] = defaultdict(list)
    for run in rows.by_table["runs"]:
        runs[run["table_id"]].append(run)
    topology = {row["run_id"]: row for row in rows.by_table["topology"]}
    flags: dict[object, list[tuple[object, object]]] = defaultdict(list)
    for flag in rows.by_table["env_flags"]:
        flags[flag["run_id"]].append((flag["name"], flag["value"]))
    results: dict[object, list[Row]] = defaultdict(list)
    for result in rows.by_table["measurements"]:
        results[result["run_id"]].append(result)
    found = []
    for table, entry in tables:
        own = runs[entry["table_id"]]
        more = _settings(table, entry)
        by_key: dict[Hashable, dict[tuple[str, str], list[tuple[float, float]]]] = {}
        for run in own:
            key = (_key(run), _key(topology[run["run_id"]]), tuple(flags[run["run_id"]]),
                   more.get(run["line"]))  # fmt: skip
            of_key = by_key.setdefault(key, {})
            for one in results[run["run_id"]]:
                if one["low"] is not None and one["high"] is not None:
                    ranges = of_key.setdefault((str(one["metric"]), str(one["unit"])), [])
                    ranges.append((float(str(one["low"])), float(str(one["high"]))))
        ids = tuple(str(run["run_id"]) for run in own)
        found.append(_Measured(table, tuple(table.table.header.cells), ids, by_key))
    return found


def _key(row: Row) -> Hashable:
    return tuple(str(value) for name, value in row.items() if name not in _OF_THE_ROW)


def _settings(found: FoundTable, entry: Row) -> dict[object, tuple[tuple[str, str], ...]]:
    """By line, the cells of a row under unknown headings that are settings."""
    table, settings = found.table, defaultdict[object, list[tuple[str, str]]](list)
    names = entry["columns"]
    assert isinstance(names, list)
    rows = [row for row in table.rows if not row.is_filler]
    for place, (heading, name) in enumerate(zip(table.header.cells, names, strict=False)):
        if name or not (heading or place == 0):
            continue
        cells = [DRESS.sub("", row.cells[place]).strip() if place < len(row.cells) else ""
                 for row in rows]  # fmt: skip
        if is_setting(heading or "row", cells):
            for row, cell in zip(rows, cells, strict=True):
                if not MISSING.fullmatch(cell):
                    settings[row.line].append((heading, cell))
    return {line: tuple(cells) for line, cells in settings.items()}


def _groups(tables: Sequence[_Measured]) -> list[list[_Measured]]:
    """Tables that are variants of each other, in the order of the document."""
    seen: dict[Hashable, int] = {}
    pairs: set[tuple[int, int]] = set()
    for at, table in enumerate(tables):
        for key in table.results:
            # Only the one before: all pairs of many equal tables would be too many.
            pairs |= {(seen[key], at)} if key in seen else set()
            seen[key] = at
    group_of = list(range(len(tables)))
    for first, second in sorted(pairs):
        if _are_variants(tables[first], tables[second]):
            old, new = group_of[second], group_of[first]
            group_of = [new if one == old else one for one in group_of]
    groups: dict[int, list[_Measured]] = {}
    for at, group in enumerate(group_of):
        groups.setdefault(group, []).append(tables[at])
    return [group for group in groups.values() if len(group) > 1]


def _are_variants(first: _Measured, second: _Measured) -> bool:
    """Whether every configuration of one is in the other, or most of them under equal headings, and
    most of their results are others.

    With no word between them the second may be the rest of the first: both have to have all. With
    the same words above, one configuration alone may be a repeat.
    """
    both: Set[Hashable] = first.results.keys() & second.results.keys()
    least = min(len(first.results), len(second.results))
    if len(both) < least and not (first.headings == second.headings and 2 * len(both) > least):
        return False
    if second.found.continues is first.found and not (
        first.results.keys() == second.results.keys() and len(both) >= _FEWEST
    ):
        return False
    if len(both) < _FEWEST and _called(first.found) == _called(second.found):
        return False
    judged = [_differ(first.results[key], second.results[key]) for key in both]
    return judged.count(True) > judged.count(False)


def _called(table: FoundTable) -> list[str]:
    """The words above a table, outermost first."""
    above = [TextLine(one.line, one.text) for one in table.path]
    return [_label(line).folded for line in (*above, table.label)]


def _differ(first: _Results, second: _Results) -> bool | None:
    """Whether two results of a configuration differ by more than their digits; None: no telling."""
    told = [
        all(high < least or most < low for low, high in first[metric] for least, most in ranges)
        for metric, ranges in second.items()
        if metric in first
    ]
    return any(told) if told else None


def _told_apart(tables: Sequence[FoundTable]) -> list[_Words]:
    """What tells tables apart: headings, else the lines above them, else their numbers; nothing if
    the text calls them repeats."""
    paths = [[_label(TextLine(one.line, one.text)) for one in table.path] for table in tables]
    headings, labels = _own(paths), [_label(table.label) for table in tables]
    joined = [_joined(pair) for pair in zip(headings, labels, strict=True)]
    every = [{words.text for words in path} | {label.text}
             for path, label in zip(paths, labels, strict=True)]  # fmt: skip
    apart = [text for text, count in Counter(chain(*every)).items() if count < len(tables)]
    if any(map(_REPEAT.search, apart)) and len({words.folded for words in joined}) == 1:
        return [_Words("") for _ in tables]
    for named in (headings, labels):
        if len({words.folded for words in named}) == len(tables):
            return named
    times = Counter(words.folded for words in joined)
    return [
        words
        if times[words.folded] == 1 or _REPEAT.search(words.text)
        else _joined((words, _Words(f"table {table.number}")))
        for words, table in zip(joined, tables, strict=True)
    ]


def _own(paths: Sequence[Sequence[_Words]]) -> list[_Words]:
    """The headings above each table that are not above all of them."""
    times = Counter(folded for path in paths for folded in {words.folded for words in path})
    return [
        _joined([words for words in path if times[words.folded] < len(paths)]) for path in paths
    ]


def _label(line: TextLine | None) -> _Words:
    if line is None:
        return _Words("")
    text = _MARKS.sub("", _NUMBERING.sub("", BULLET.sub("", line.text)))
    text = " ".join(text.split()).strip(" :.-–—")
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST].rsplit(' ', 1)[0]}…"
    # Settings are listed with commas between.
    return _Words(text.replace(", ", "; "), line.line)


def _joined(parts: Sequence[_Words]) -> _Words:
    stated = [words for words in parts if words.text]
    line = stated[-1].line if stated else None
    return _Words(" / ".join(words.text for words in stated), line)
