"""Documents changed as nobody tuned for, so that what is true of their rows stays true.

Each line keeps the number it had, so that rows are found again. It knows nothing of the reader
but the vocabulary of headings, of which synonyms are taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random

from bench.vocabulary.fields import fields
from bench.vocabulary.headings import column_of
from tests.metamorphic_tables import (
    Line,
    Lines,
    as_html,
    as_rst,
    as_tabs,
    grids,
    load,
    moved_columns,
    outside,
    row_line,
    transposed,
)

_HEADING = re.compile(r"(#{1,6})\s+\S")
_NONSENSE = ("Zorp", "Quux factor", "Blarg (vz)", "Frobnication")
_WORDS = ("zorply", "verily", "(zorp)", "quux")


def headings(lines: Lines) -> dict[int, int]:
    """Place and level of each heading outside fences."""
    return {at: len(found[1]) for at in outside(lines) if (found := _HEADING.match(lines[at].text))}


def unknown_headings(lines: Lines, rng: Random) -> Lines:
    """One heading of each table by a word that nobody knows."""
    changed = list(lines)
    for grid in grids(lines):
        cells = list(grid.rows[0])
        cells[rng.randrange(len(cells))] = rng.choice(_NONSENSE)
        changed[grid.first] = row_line(cells, lines[grid.first].of)
    return changed


def synonyms(lines: Lines, rng: Random) -> Lines:
    """Every heading that the vocabulary knows by another one of the same column."""
    changed = list(lines)
    for grid in grids(lines):
        cells = [rng.choice(_synonyms(cell) or (cell,)) for cell in grid.rows[0]]
        changed[grid.first] = row_line(cells, lines[grid.first].of)
    return changed


@cache
def _synonyms(heading: str) -> tuple[str, ...]:
    column = column_of(heading)
    if column is None or column.name not in fields():
        return ()
    if re.fullmatch(r"b(?:atch)?[ _-]?s(?:ize)?", heading, re.I):
        return ()  # of a step or a micro-batch, as the rows tell
    every = fields()[column.name].headings
    return tuple(one for one in every if column_of(one) == column and one != heading)


def unknown_words(lines: Lines, rng: Random) -> Lines:
    """A word that nobody knows within every third line of prose."""
    apart = {n for grid in grids(lines) for n in range(grid.first, grid.end)} | {*headings(lines)}
    changed = list(lines)
    for at in outside(lines):
        words = lines[at].text.split(" ")
        if at in apart or "|" in lines[at].text or len(words) < 3 or rng.random() < 0.6:
            continue
        place = rng.randrange(2, len(words))
        text = " ".join([*words[:place], rng.choice(_WORDS), *words[place:]])
        changed[at] = Line(text, lines[at].of)
    return changed


_SETTINGS = (
    "We trained a 70B model with TP 8, PP 4, micro-batch size 7, GBS 2040, 96 layers, hidden size "
    "12288 and sequence length 16384 on 544 H200 GPUs in FP8 with ZeRO-3 and full activation"
    " recomputation.",
    "- Model: 70B\n- TP=8, PP=4, CP=2\n- MBS: 7\n- GBS: 2040\n- layers: 96\n- hidden size: 12288\n"
    "- Sequence length: 16384\n- 68 nodes of 8x H200\n- FP8\n- selective activation recomputation",
    "```\ntorchrun --nproc-per-node 8 --nnodes 68 pretrain.py --num-layers 96 \\\n"
    "  --hidden-size 12288 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 \\\n"
    "  --micro-batch-size 7 --global-batch-size 2040 --seq-length 16384 --bf16\n```",
    "```yaml\nmodel: 70B\nTP: 8\nPP: 4\nMBS: 7\nGBS: 2040\nnum_layers: 96\nhidden_size: 12288\n"
    "seq_length: 16384\ndtype: fp8\n```",
    "    NNODES=68 TP=8 PP=4 MBS=7 GBS=2040 NLAYERS=96 NHIDDEN=12288 SEQ_LEN=16384 ./train.sh",
    "| Parameter | Value |\n|---|---|\n| TP | 8 |\n| PP | 4 |\n| MBS | 7 |\n| GBS | 2040 |\n"
    "| Layers | 96 |\n| Seq len | 16384 |\n| dtype | fp8 |",
    "The 70B uses TP 8 and PP 4. MBS is 7, the global batch size is 2040.",
    "70B: TP=8, PP=4, MBS=7, GBS=2040, 96 layers, hidden 12288, sequence length 16384, H200, FP8",
)
_OTHERS = ("Llama 3 70B", "Another model: 70B", "70B on H200", "Experiment B: the 70B model")
_ASIDES = (
    "Plans", "Example script", "A hypothetical setup", "Next steps", "Proposed configuration",
    "Usage", "How to run the examples",
)  # fmt: skip
_QUOTED = (
    "> {}", "For comparison, the authors of Zorp-70B: MBS 7, GBS 2040, TP 8 on 544 H200 GPUs.",
    "As an example, one could use MBS 7 and GBS 2040 with TP 8.",
    "Next we plan to try MBS 7, GBS 2040, TP 8 and sequence length 16384.",
    "According to the Zorp paper, it used 96 layers, hidden size 12288 and GBS 2040.",
)  # fmt: skip


def section_of_another_model(lines: Lines, rng: Random) -> Lines:
    """A section about another model, with its own settings."""
    return _with_section(lines, rng.choice(_OTHERS), rng.choice(_SETTINGS), rng)


def section_aside(lines: Lines, rng: Random) -> Lines:
    """A section of a plan, an example or something hypothetical."""
    return _with_section(lines, rng.choice(_ASIDES), rng.choice(_SETTINGS), rng)


def quotation(lines: Lines, rng: Random) -> Lines:
    """A paragraph that quotes, compares or plans, before or behind any paragraph."""
    tables = {n for grid in grids(lines) for n in range(grid.first, grid.end)}
    gaps = [at for at in outside(lines)
            if not lines[at].text.strip() and not {at - 1, at + 1} & tables]  # fmt: skip
    text = rng.choice(_QUOTED).format(_SETTINGS[0])
    places = rng.sample(gaps, min(3, len(gaps)))
    changed = list(lines)
    for at in sorted(places, reverse=True):
        changed[at:at] = _put(f"\n{text}\n")
    return changed


def _with_section(lines: Lines, title: str, body: str, rng: Random) -> Lines:
    """The lines with a section of its own before a heading, or at the end; it has its level."""
    levels = headings(lines)
    places = [*levels][1:]
    at = rng.choice([*places, len(lines)])
    level = levels.get(at, min(levels.values(), default=1) + 1)
    return [*lines[:at], *_put(f"\n{'#' * level} {title}\n\n{body}\n"), *lines[at:]]


def _put(text: str) -> Lines:
    return [Line(line) for line in text.split("\n")]


def heading_between(lines: Lines, rng: Random) -> Lines:
    """A heading of another experiment above a table and the line that leads to it."""
    levels = headings(lines)
    # What stands behind the table would be of the other experiment, too.
    found = [grid for grid in grids(lines) if _behind(lines, grid.end) in (*levels, len(lines))]
    if not found:
        return lines
    at = rng.choice(found).first
    while at > 0 and lines[at - 1].text.strip():
        at -= 1
    above = [level for place, level in levels.items() if place < at]
    level = min(6, max([*above[-1:], 1]) + 1)
    return [*lines[:at], *_put(f"\n{'#' * level} Another experiment\n"), *lines[at:]]


def _behind(lines: Lines, at: int) -> int:
    """The place of the next line that is not blank."""
    return next((n for n in range(at, len(lines)) if lines[n].text.strip()), len(lines))


def swapped_sections(lines: Lines, rng: Random) -> Lines:
    """Two neighbouring sections of one level, each with tables, in the other order."""
    levels = headings(lines)
    tables = [grid.first for grid in grids(lines)]
    places = [*levels, len(lines)]
    pairs = []
    for at in levels:
        ends = [n for n in places if n > at and levels.get(n, 0) <= levels[at]]
        if len(ends) > 1 and levels.get(ends[0]) == levels[at]:
            spans = (at, ends[0]), (ends[0], ends[1])
            back = any("above" in line.text for line in lines[at : ends[1]])
            if not back and all(any(a <= one < b for one in tables) for a, b in spans):
                pairs.append((at, ends[0], ends[1]))
    if not pairs:
        return lines
    a, b, c = rng.choice(pairs)
    return [*lines[:a], *lines[b:c], Line(""), *lines[a:b], *lines[c:]]


def moved_aside(lines: Lines, rng: Random) -> Lines:
    """A section of a plan or an example of the document itself, at its end."""
    levels = headings(lines)
    words = re.compile(r"\b(?:possible|plans?|planned|examples?|scripts?|usage|todo)\b", re.I)
    own = [at for at in levels if words.search(lines[at].text) and levels[at] > 1]
    if not own:
        return lines
    at = rng.choice(own)
    end = next((n for n in levels if n > at and levels[n] <= levels[at]), len(lines))
    return [*lines[:at], *lines[end:], Line(""), *lines[at:end]]


Change = Callable[[Lines, Random], Lines]
CHANGES: dict[str, Change] = {
    one.__name__: one
    for one in (
        unknown_headings, synonyms, unknown_words, section_of_another_model, section_aside,
        quotation, heading_between, swapped_sections, moved_aside, moved_columns, transposed,
        as_html, as_rst, as_tabs,
    )
}  # fmt: skip


def changed(name: str, text: str, kind: str, seed: int) -> Lines:
    """A document with one kind of change, the same for the same seed."""
    return CHANGES[kind](load(text), Random(f"{kind} {seed} {name}"))
