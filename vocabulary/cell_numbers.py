"""Cells of columns of numbers: a value with its unit, and the text after it."""

from __future__ import annotations

import re
from dataclasses import replace
from math import isfinite

from .cell import Cell, as_words, in_tokens, of_text
from .cell_pieces import MARK, MARKS, NUMBER, Piece, half_digit, mark_pieces, number_piece
from .cell_products import spelled_product
from .cell_units import ANY_UNIT, DEVICE, fits
from .durations import duration
from .headings import Column, column_of
from .outcome_words import failure_of, risk_of
from .settings import setting_pieces, settings_of
from .sizes import binary_length

_VALUE = re.compile(
    rf"^(?P<about>(?:[~≈]\s*)?(?:\$\s?)?)?(?P<number>{NUMBER})(?P<suffix>\s?[kKM](?=\s?(?:[Tt]ok|[Ss]amp|[Ss]eq|[Ee]xam))|[kKMBT](?![A-Za-z]))?(?P<gap>\s*)"
    rf"(?P<unit>(?:{ANY_UNIT})(?![A-Za-z/]))?(?P<gap2>\s*)"
    rf"(?P<marks>(?:{MARK})(?:\s*/\s*(?:{MARK}))*)?(?P<rest>.*)$",
    re.S,
)
_OF_CAPACITY = re.compile(
    r"(?P<own>Gi?B)?\s*(?:/|of|\bout of)\s*(?P<all>\d{2,3})(?:\s?(?P<unit>Gi?B))?"
    r"\s*(?:\(\d{1,3}(?:\.\d{1,3})?\s?%\)\s*)?",
    re.I,
)
# Usual device memories in GB.
CAPACITIES = frozenset((16, 24, 32, 40, 48, 64, 80, 94, 96, 120, 128, 141, 144, 180, 192, 256, 288))
_ROUNDED = 0.01  # between a product and the number that it is said to be
_SPREAD = re.compile(
    rf"^\s*(?:±|\+/-|\+-)\s*(?P<half>{NUMBER})\s?(?P<unit>(?:{ANY_UNIT})(?![A-Za-z/]))?(?:\s*\([^()]{{1,80}}\))?$"
)
_PAIR = re.compile(rf"^\s*\(({NUMBER})\s*(%?)\)$")
# `8 : 16`, `32/32`, `176 and 24`: of two runs or two phases, by the heading
_TWO = re.compile(rf"^\s*(?::|/|and|&)\s*({NUMBER})$")
# `2x8`: nodes times devices
_TIMES = re.compile(r"^\s*[x×*]\s*(\d{1,6})$")
# `0.954s / 0.956s`: of two runs of one row
_AGAIN = re.compile(rf"^\s*/\s*({NUMBER})\s?(?:(?:{ANY_UNIT})(?![A-Za-z/]))?$")
_ALIKE = 1.25  # between the numbers of such runs
_RANGE = re.compile(
    rf"^\s*(?:-|–|—|\.\.|to)\s*[~≈]?({NUMBER})[kKMBT]?\s?(?:(?:{ANY_UNIT})(?![A-Za-z/]))?$", re.I
)
_SYMBOLIC = re.compile(
    r"^(?=[^-]*[*/+]|.*\d)[A-Za-z_][\w.]*(?:\s*\\?[*/+-]\s*[\w.]+)+$|^\d+\s*\\?[*/]\s*[A-Za-z_]\w*$"
)
BOUND = re.compile(r"\s*[<>≤≥]=?\s?\d[\d,]*(?:\.\d+)?\s?[A-Za-z%/]{0,12}\s*")
_PLAIN_WORDS = re.compile(r"^\s*[x×]?\s*[^\W\d_][^\d,;:]*\d{0,3}[A-Za-z]*$")  # 8 GPUs, 4x A100
_SPACED = re.compile(r"\d{1,3}(?:\s\d{3}){1,4}(?:\.\d{1,9})?")
_SPACED_SCALE = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s([kKM])")
_SCALED = frozenset({"tokens/s", "1/s"})  # rates of thousands and of millions
_PRINTED = re.compile(r"\d[\d.,]*")
_OTHER_NOTATION = str.maketrans(",.", ".,")
_SIGNED = re.compile(r"\s*\+\s*\d")  # +2.80: a gain, no rate
_RATES = frozenset({"rate", "percent", "time", "throughput"})
# 4160 tokens/s on Atlas 800T A2; 58.9 GB, 0 retries
_WORDS_BEHIND = re.compile(r"\s*(?:[,;]\s+(?:\d{1,4}\s)?)?[^\W\d_]")
_AFTER_DASH = re.compile(r"\s*[—–]\s+[^\W\d_]")  # 324 — settled, noisy
# 236.1K steady (steps 3-10)
_STATISTIC = re.compile(
    r"\s*(?:steady(?:[ -]state)?|sustained|avg\.?|average|mean|median|warm)\s*(?:\([^()]{1,40}\))?",
    re.I,
)
_OF_EACH = re.compile(rf"\s*(?:(?:/|per|a)\s*(?:{DEVICE}|rank)|each)\s*", re.I)  # 0.5 per GPU
_UNIT_BEHIND = re.compile(rf"\d\s*(?:{ANY_UNIT})(?![A-Za-z/])", re.I)
_UNIT_IN_BRACKETS = re.compile(rf"(\s*\(\s*)({ANY_UNIT})(\s*\)\s*)$", re.I)  # 406.16 (ms)
_OF_ONE = re.compile(rf"(?<=B)\s?(?:/|per )\s?(?:{DEVICE}|rank)\Z", re.I)
# of that many devices, unless it is what they have: `8 x 80GB`
_EACH = re.compile(r"\d{1,4}\s?[*x×]\s?(?=\d)(?!(?:16|24|32|40|48|64|80|96|141|192)\s?Gi?B)")
# `66.27 * 8 GB`: of each of so many devices; of two whole numbers either may be the count
_BY_DEVICES = re.compile(r"(\d{1,4}\.\d{1,3})(\s?[*x×]\s?\d{1,4})(\s?[KMG]i?B)")
# 49.7 hours ($5482)
_AMOUNT = re.compile(
    r"\$\s?\d[\d,]{0,15}(?:\.\d{1,6})?(?![\w.])|(?<![\w.,])\d[\d,]{0,15}(?:\.\d{1,6})?\s?USD\b"
)
# `297 (eager) / 165 (compiled)`: of which of them the other cells of the row are is not said
_EACH_REMARKED = re.compile(
    r"\s*\([^()]{1,40}\)\s*[/|;,]\s*[*`_~≈]{0,3}\d[\d.,]*[^()]{0,12}\([^()]{1,40}\)"
)
# `5.834 ↑`, `61.2 🏆`: an arrow or an award is no word and no mark; a cross may be a failure.
# ` (LD_PRELOAD=libtcmalloc.so) †`: settings, and marks behind them
_IN_BRACKETS = re.compile(rf"^(\s*)\((.*)\)(\s*)((?:{MARK})(?:\s*/\s*(?:{MARK}))*)?\s*$", re.S)
_ORNAMENT = re.compile(r"\s*[←-⇿✅✓✔⭐🏆🥇🔥🚀⚡\ufe0f]{1,4}\s*")
_NAMED = re.compile(r"([A-Za-z]{2,8})[ =_:-]?(\d.*)$", re.S)  # ZeRO-3, TP8
_SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_MEGA = 2.0**20  # tokens of `1M`
_TOO_MANY = 2**31
_NEVER_ZERO = frozenset(
    re.findall(r"\w+", "nodes devices ranks dp tp pp mbs gbs seq_len layers hidden heads")
)


_OF_HEADING = {1e3: "k", 1e6: "M"}  # `Seq len (K)` is read like `4K` in a cell
_WRITTEN_OUT = 1025  # `2048` under `Seq len (K)` is in tokens, 1024 still a million of them


def measure(raw: str, column: Column) -> Cell:
    """A number under a heading of numbers, in the unit printed; an invalid cell has the reason."""
    if _SPACED.fullmatch(raw):  # `1 536`, with a blank for thousands
        cell = measure(re.sub(r"\s", ",", raw), column)
        return replace(cell, raw=raw, pieces=(["word", raw],))
    if column.unit in _SCALED and (scaled := _SPACED_SCALE.fullmatch(raw)):  # `3.58 M` tokens/s
        cell = measure(scaled[1] + scaled[2], column)
        return replace(cell, raw=raw, pieces=(["word", raw],))
    if column.decimal == ",":  # `7,89 GiB`, `91.705`
        cell = measure(_PRINTED.sub(_with_point, raw), replace(column, decimal="."))
        return replace(cell, raw=raw, pieces=(["word", raw],))
    named = _NAMED.match(raw) if column.type == "count" else None
    if named and column_of(named[1]) == column:
        cell = measure(named[2], column)
        return replace(cell, raw=raw, pieces=(["gap", raw[: named.start(2)]], *cell.pieces))
    if column.name == "train_time" and (long := duration(raw)):
        return long
    if column.type == "memory" and (one := _OF_ONE.search(raw)):  # `107 GiB/rank`
        cell = measure(raw[: one.start()], column)
        return replace(cell, raw=raw, pieces=(*cell.pieces, ["word", one[0]]))
    if column.type == "memory" and (each := _EACH.match(raw)):  # `3*9406MB`
        cell = measure(raw[each.end() :], column)
        return replace(cell, raw=raw, pieces=(["gap", each[0]], *cell.pieces))
    if column.type == "memory" and (by := _BY_DEVICES.fullmatch(raw)):
        cell = measure(by[1] + by[3], column)
        return replace(cell, raw=raw, pieces=(*cell.pieces[:1], ["word", by[2]], *cell.pieces[1:]))
    if column.type in _RATES and (worked := _worked_out(raw, column)):
        return worked
    if _SYMBOLIC.match(raw) and not failure_of(raw):
        return Cell(raw, "symbolic", text=raw, pieces=(["word", raw],))
    amount = _AMOUNT.search(raw) if column.type == "price" else None
    if amount and amount.start():
        cell = measure(amount[0], column)
        around = ["gap", raw[: amount.start()]], ["gap", raw[amount.end() :]]
        return replace(cell, raw=raw, pieces=(around[0], *cell.pieces, around[1]))
    match = _VALUE.match(raw)
    if not match or not isfinite(float(match["number"].replace(",", ""))):
        return _words(raw, column)
    cell = _number(raw, match, column)
    rest = match["rest"]
    if not rest.strip():
        spaced = replace(cell, pieces=(*cell.pieces, ["gap", rest])) if rest else cell
        return _fit(spaced, column)
    return _fit(_with_rest(cell, rest, column), column)


def _with_point(number: re.Match[str]) -> str:
    return number[0].translate(_OTHER_NOTATION)


def _worked_out(raw: str, column: Column) -> Cell | None:
    """The result of a product that the cell spells out, if the product is right.

    A rate that is divided may be one of the job or of a device: only the heading tells.
    """
    spelled = spelled_product(raw)
    if spelled and re.search(r"[/÷]", spelled[0]) and not column.name.endswith("_per_device"):
        return None
    cell = measure(raw[len(spelled[0]) :], column) if spelled else None
    if not (spelled and cell and cell.value) or abs(spelled[1] / cell.value - 1) > _ROUNDED:
        return None
    return replace(cell, raw=raw, pieces=(["gap", spelled[0]], *cell.pieces))


def _number(raw: str, match: re.Match[str], column: Column) -> Cell:
    piece = number_piece(match["number"])
    pieces: list[Piece] = [["gap", match["about"]]] if match["about"] else []
    pieces.append(piece)
    value, half = piece[1], half_digit(match["number"])
    headed = column.type == "count" and abs(value) < _WRITTEN_OUT
    suffix = match["suffix"] or (_OF_HEADING.get(column.scale, "") if headed else "")
    if suffix:
        scale = _scale(suffix.strip(), value, column)
        value, half = value * scale, half * scale
        value = round(value) if column.name == "seq_len" and isfinite(value) else value
    if match["suffix"]:
        pieces.append(["word", match["suffix"]])
    if match["gap"]:
        pieces.append(["gap", match["gap"]])
    if match["unit"]:
        pieces.append(["unit", match["unit"]])
    if match["gap2"]:
        pieces.append(["gap", match["gap2"]])
    marks = tuple(MARKS.findall(match["marks"] or ""))
    pieces += mark_pieces(match["marks"] or "")
    text = "about" if match["about"] else None
    return Cell(
        raw, "number", value, piece[2], half, match["unit"], text, marks, pieces=tuple(pieces)
    )


def _scale(suffix: str, value: float, column: Column) -> float:
    """The factor of a suffix letter: `8k` tokens of a sequence are 8192, `100k` are 100,000."""
    length = binary_length(value) if column.name == "seq_len" else None
    if length and suffix in "kK":
        return length / value
    return _MEGA if length and suffix == "M" else _SCALE[suffix]


def _with_rest(cell: Cell, rest: str, column: Column) -> Cell:
    """A number with further text: a second value, a range, settings in parentheses, words."""
    if (unit := _UNIT_IN_BRACKETS.match(rest)) and cell.unit is None:
        pieces = (*cell.pieces, ["gap", unit[1]], ["unit", unit[2]], ["gap", unit[3]])
        return replace(cell, unit=unit[2], pieces=pieces)
    if two := _of_two(cell, rest, column):
        return two
    opened = _IN_BRACKETS.match(rest)
    if opened and column.role in ("topology", "batch", "model"):
        return _with_settings(cell, opened)
    worded = replace(cell, text=rest.strip(), pieces=(*cell.pieces, ["word", rest]))
    spread = _SPREAD.match(rest)
    if spread:
        half = float(spread["half"].replace(",", ""))
        return replace(worded, half=half, unit=cell.unit or spread["unit"])
    if opened or _is_remark(cell, rest, column):
        return worded
    if column.type == "memory" and (used := _used_of(worded, rest)):
        return used
    return replace(worded, kind="misfit", invalid=f"more than a number under {column.title}")


def _of_two(cell: Cell, rest: str, column: Column) -> Cell | None:
    """A number with a second one: a pair, a range, a factor of devices."""
    without_value = replace(cell, value=None, half=None, text=cell.raw)
    pair, span = _PAIR.match(rest), _RANGE.match(rest)
    if pair and not pair[2]:
        second = number_piece(pair[1])
        start = rest[: rest.index(pair[1])]
        pieces = (*cell.pieces, ["gap", start], second, ["gap", rest[len(start) + len(pair[1]) :]])
        return replace(cell, kind="pair", text=rest.strip(), pieces=pieces)
    times = _TIMES.match(rest) if column.name == "devices" and cell.value else None
    if times:
        pieces = (*cell.pieces, ["gap", rest[: times.start(1)]], number_piece(times[1]))
        return replace(cell, value=(cell.value or 0) * int(times[1]), pieces=pieces)
    two = _TWO.match(rest) if column.role in ("topology", "batch") else None
    if two:
        pieces = (*cell.pieces, ["gap", rest[: two.start(1)]], number_piece(two[1]))
        return replace(without_value, kind="pair", pieces=pieces)
    again = _AGAIN.match(rest) if column.role == "result" and column.type in _RATES else None
    if again and cell.value and 1 / _ALIKE < float(again[1].replace(",", "")) / cell.value < _ALIKE:
        span = again
    if span and not cell.marks:
        start = rest[: rest.index(span[1], 1)]
        pieces = (*cell.pieces, ["gap", start], number_piece(span[1]))
        return replace(without_value, kind="range", pieces=pieces)
    if _EACH_REMARKED.match(rest):
        return replace(without_value, kind="pair", pieces=(*cell.pieces, ["word", rest]))
    return None


def _with_settings(cell: Cell, opened: re.Match[str]) -> Cell:
    """A number with settings in parentheses, and marks behind them."""
    settings, marks = opened[2], opened[4] or ""
    return replace(
        cell,
        kind="settings",
        marks=cell.marks + tuple(MARKS.findall(marks)),
        settings=settings_of(settings),
        pieces=(
            *cell.pieces, ["gap", opened[1] + "("], *setting_pieces(settings),
            ["gap", ")" + opened[3]], *mark_pieces(marks),
        ),
    )  # fmt: skip


def _is_remark(cell: Cell, rest: str, column: Column) -> bool:
    """Whether the words behind a number leave it as it is."""
    return bool(
        failure_of(rest)
        or _STATISTIC.fullmatch(rest)
        or _AFTER_DASH.match(rest)
        or (_PLAIN_WORDS.match(rest) and (column.role != "result" or cell.unit))
        or (cell.unit and _WORDS_BEHIND.match(rest) and not _UNIT_BEHIND.search(rest))
        or (column.type == "memory" and _OF_EACH.fullmatch(rest))
        or _ORNAMENT.fullmatch(rest)
    )


def _words(raw: str, column: Column) -> Cell:
    if failure_of(raw):
        return Cell(raw, "failure", text=raw, pieces=(["word", raw],))
    if risk_of(raw):
        return replace(of_text(raw), kind="text")
    if column.type == "number":
        return of_text(raw)
    if column.role == "result" and BOUND.fullmatch(raw):
        return replace(of_text(raw), kind="text")  # a bound is no measured value
    return replace(of_text(raw), kind="misfit", invalid=f"no number under {column.title}")


def _fit(cell: Cell, column: Column) -> Cell:
    """Check the unit and the kind of number against the column."""
    if column.type == "memory" and cell.unit == "%":
        return as_words(cell)  # a share of the device's memory
    invalid = None
    if cell.unit and not fits(cell.unit, column):
        invalid = f"{cell.unit} under {column.title}"
    elif column.role == "batch" and in_tokens(cell):
        invalid = f"tokens under {column.title}"
    elif column.type == "count" and cell.kind in ("number", "settings") and cell.value is not None:
        if not -_TOO_MANY < cell.value < _TOO_MANY:
            invalid = f"too large under {column.title}"
        elif cell.value != int(cell.value) or cell.value < 0:
            invalid = f"not a whole number under {column.title}"
        elif cell.value == 0 and column.name in _NEVER_ZERO:
            invalid = f"zero under {column.title}"
    elif cell.value is not None and column.type in _RATES and _SIGNED.match(cell.raw):
        invalid = f"a difference under {column.title}"
    elif cell.value is not None and cell.value < 0 and column.role == "result":
        invalid = f"negative under {column.title}"
    elif cell.value == 0 and column.metric == "step_time_s":
        invalid = f"zero under {column.title}"
    return replace(cell, kind="misfit", invalid=invalid) if invalid else cell


def _used_of(cell: Cell, rest: str) -> Cell | None:
    """A cell with the used part of a device's memory: `77/80`, `61.5 GiB of 80 GiB`."""
    match = _OF_CAPACITY.fullmatch(rest)
    if match is None or cell.value is None:
        return None
    own = cell.unit or match["own"]
    unit = match["unit"] or own
    known = int(match["all"]) in CAPACITIES and cell.value <= int(match["all"])
    return replace(cell, unit=unit) if known and unit == (own or unit) else None
