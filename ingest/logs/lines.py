"""Bytes of a log -> numbered lines without prefixes, in bounded memory."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from ...vocabulary.package_toml import declared
from ..cast import timestamp

# A piece between line ends or carriage returns longer than this is cut; no log line comes near.
PIECE_LIMIT = 1 << 20
BOM = b"\xef\xbb\xbf"
# Escape sequences: control (colours, clear screen), operating system (titles), two-character ones.
ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
MOST_PREFIXES = 8
# How Python prints scalars of numpy and of torch.
SCALAR = re.compile(
    r"\b(?:np\.(?:float|int|bool)\d{0,3}_?|numpy\.\w{3,9}|tensor|array)\("
    r"([-+]?[\w.]{1,30}(?:[-+]\d{1,3})?)(?:, \w{1,20}=[^(),]{1,40}){0,3}\)"
)
RULE = frozenset("-=*_#~+ \t")  # a line of nothing else carries nothing
TIME = re.compile(
    r"""(?x) (?: (?P<year>20\d\d)-?(?P<month>\d\d)-?(?P<day>\d\d)
           | (?P<us_month>\d\d)/(?P<us_day>\d\d)/(?P<us_year>20\d\d) )
    [ T_] (?P<time>\d\d:\d\d:\d\d) (?:[.,](?P<fraction>\d{1,6}))?"""
)


@dataclass(slots=True)  # frozen ones take three times as long to make
class Line:
    """One piece of text of line `number`; pieces between carriage returns share a number."""

    number: int
    text: str
    prefixes: tuple[str, ...] = ()
    errors: int = 0  # characters that are no UTF-8
    cut: bool = False


def read_lines(stream: BinaryIO, above: int = 0) -> Iterator[Line]:
    """The lines of a log: split on line feeds, pieces between carriage returns one by one.

    `above`: the number of lines before the stream.
    """
    number = above
    while chunk := stream.readline(PIECE_LIMIT):
        number += 1
        if number == 1:
            chunk = chunk.removeprefix(BOM)
        if len(chunk) >= PIECE_LIMIT - len(BOM) and not chunk.endswith(b"\n"):
            yield from long_line(stream, number, chunk)
            continue
        yield from pieces_of(number, chunk.removesuffix(b"\n"))


def pieces_of(number: int, body: bytes) -> Iterator[Line]:
    """The pieces of one line between carriage returns."""
    body = body.removesuffix(b"\r")
    if b"\r" not in body:
        yield _line(number, body)
        return
    for piece in body.split(b"\r"):
        if piece:
            yield _line(number, piece)


def long_line(stream: BinaryIO, number: int, chunk: bytes) -> Iterator[Line]:
    """A line of many chunks (a progress bar may redraw for hours): pieces as they end."""
    rest, cut = b"", False
    while chunk:
        ended = chunk.endswith(b"\n")
        *pieces, last = (rest + chunk.removesuffix(b"\n")).split(b"\r")
        for piece in pieces:
            if piece:
                yield _line(number, piece[:PIECE_LIMIT], cut or len(piece) > PIECE_LIMIT)
            cut = False
        rest, cut = last[:PIECE_LIMIT], cut or len(last) > PIECE_LIMIT
        if ended:
            break
        chunk = stream.readline(PIECE_LIMIT)
    if rest:
        yield _line(number, rest, cut)


def _line(number: int, body: bytes, cut: bool = False) -> Line:
    text, errors = _decode(body)
    prefixes, text = peel(text)
    return Line(number, text, prefixes, errors, cut)


def _decode(body: bytes) -> tuple[str, int]:
    try:
        return body.decode("utf-8"), 0
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
        return text, text.count("\ufffd") - body.count("\ufffd".encode())


def peel(text: str) -> tuple[tuple[str, ...], str]:
    """The prefixes by launchers and loggers, and the line as the program printed it."""
    if "\x1b" in text:
        text = ANSI.sub("", text)
    if "\0" in text:
        text = text.replace("\0", "")
    if "np." in text or "tensor(" in text:
        text = SCALAR.sub(r"\1", text)
    prefixes: tuple[str, ...] = ()
    match = _prefix()
    while len(prefixes) < MOST_PREFIXES and (found := match(text)):
        prefixes += (found.group().strip(),)
        text = text[found.end() :]
    return prefixes, text


def printed_at(prefixes: tuple[str, ...]) -> dict[str, object]:
    """The time that a logger put in front of a line, if any."""
    for prefix in prefixes:
        if len(prefix) > 18 and (match := TIME.search(prefix)):
            year = match["year"] or match["us_year"]
            month = match["month"] or match["us_month"]
            day = match["day"] or match["us_day"]
            fraction = (match["fraction"] or "0")[:6].ljust(6, "0")
            value = timestamp(f"{year}-{month}-{day}T{match['time']}.{fraction}")
            return {"printed_at": value} if value else {}
    return {}


@functools.cache
def declared_prefixes() -> list[dict[str, object]]:
    """The prefixes of `prefixes.toml`, with their sample lines."""
    found = declared(__package__ or "bench.ingest.logs", "prefixes.toml")
    prefixes: list[dict[str, object]] = found["prefix"]
    return prefixes


@functools.cache
def _prefix() -> Callable[[str], re.Match[str] | None]:
    pattern = "|".join(f"(?:{prefix['pattern']})" for prefix in declared_prefixes())
    return re.compile(pattern).match
