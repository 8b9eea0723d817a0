"""Regions of a markdown file between `<!-- bench:begin ... -->` and `<!-- bench:end -->`.

A file is split at line feeds and joined from the same pieces, so that unchanged parts keep every
byte: line ends, trailing blanks, a missing last line end.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..schema.errors import BenchError

FLAGS = frozenset(("all",))
VALUES = frozenset((
    "report", "table", "model", "where", "document", "tokens", "steps", "from", "charts",
    "template", "section", "by", "columns", "group", "claim",
))  # fmt: skip
_MARKER = re.compile(r"^\ufeff?(?P<indent>[ \t]*)<!--\s*bench:(?P<word>[\w-]*)(?P<rest>.*)$", re.S)
_ANY = re.compile(r"<!--\s*bench", re.I)
# Near misses of a marker: another case, another sign, after a quote or text.
_NEARLY = re.compile(r"(?<!\\)<!--\s*bench[\s:_.-]*(?:begin|end)\b", re.I)
_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_CLOSED = re.compile(r"^(?P<options>(?:\s.*?)?)(?<!\s)\s*-->\s*$", re.S)
_OPTION = re.compile(r"""\s*(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>"[^"]*"|'[^']*'|[^\s"']+))?""")
_DIGEST = re.compile(r"[0-9a-f]{12}")
DIGITS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """One region: its options, and the lines of its markers, counted from 1."""

    begin: int
    end: int
    options: Mapping[str, str] = field(default_factory=dict)
    digest: str | None = None
    indent: str = ""
    within_html: bool = False  # where a table needs a blank line before it

    @property
    def title(self) -> str:
        """Its content, in the words of its marker."""
        return f"table {self.options['table']}" if "table" in self.options else self.report

    @property
    def report(self) -> str:
        return self.options.get("report", "model")


@dataclass(frozen=True, slots=True)
class Document:
    """A file's lines, each with its own line end, and the regions among them."""

    name: str
    lines: tuple[str, ...]
    regions: tuple[Region, ...]

    def body(self, region: Region) -> str:
        """The text between the markers, without blank lines around, ends of line as \
        ."""
        text = "".join(self.lines[region.begin : region.end - 1]).replace("\r\n", "\n")
        return _plain(text, region.indent)

    def edited(self, region: Region) -> bool:
        """Whether its content was edited by hand, as the digest shows."""
        return region.digest is not None and region.digest != digest(self.body(region))

    def is_stale(self, region: Region, body: str) -> bool:
        """Whether its content differs from this text, or its digest from its content."""
        return _plain(body, region.indent) != self.body(region) or self.edited(region)

    def replaced(self, bodies: Mapping[Region, str]) -> str:
        """The text with these bodies, in the layout of the file, and a digest at every end marker.

        A region that has its body and its digest keeps every byte.
        """
        lines = list(self.lines)
        for region in sorted(bodies, key=lambda body: body.begin, reverse=True):
            body = _plain(bodies[region], region.indent)
            if self.is_stale(region, body):
                lines[region.begin - 1 : region.end] = self._written(region, body)
            elif region.digest is None:
                lines[region.end - 1] = _with_digest(lines[region.end - 1], digest(body))
        return "".join(lines)

    def _written(self, region: Region, body: str) -> list[str]:
        begin, *old, end = self.lines[region.begin - 1 : region.end]
        newline = "\r\n" if begin.endswith("\r\n") else "\n"
        before = _blank(old)
        after = _blank(old[::-1]) if len(before) < len(old) else []
        if region.within_html:
            before, after = before or [newline], after or [newline]
        lines = [f"{region.indent}{line}" if line else "" for line in body.split("\n")]
        written = [f"{line}{newline}" for line in lines] if body else []
        return [begin, *before, *written, *after[::-1], _with_digest(end, digest(body))]


def digest(body: str) -> str:
    """Twelve hex digits of a region's text."""
    return hashlib.sha256(body.encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]


def read_document(text: str, name: str) -> Document:
    """The regions of a markdown text; markers shown as code do not count.

    Raises BenchError, with the line, for a broken or unknown marker, or one without its
    counterpart.
    """
    lines = tuple(re.findall(r"[^\n]*\n|[^\n]+", text))
    if not _ANY.search(text):
        return Document(name, lines, ())
    code, html = _blocks(text)
    regions: list[Region] = []
    begin: tuple[int, dict[str, str], str] | None = None
    for number, line in enumerate(lines, 1):
        if number in code:
            continue
        place = f"{name}:{number}"
        match = _MARKER.match(line.rstrip("\r\n"))
        if match is None:
            if begin is None:  # regions have generated content
                _refuse_nearly(line, place)
            continue
        word, options = match["word"], _options(match["rest"], place)
        if word == "begin" and begin:
            raise BenchError(
                "a region begins within another",
                why=f"the one that begins on line {begin[0]} has no end marker before this line",
                where=place, hint="end it with <!-- bench:end -->",
            )  # fmt: skip
        if word == "begin":
            begin = number, _checked_options(options, place), match["indent"]
        elif word == "end" and begin:
            sealed, first = _digest(options, place), begin[0]
            regions.append(Region(first, number, begin[1], sealed, begin[2], first in html))
            begin = None
        elif word == "end":
            raise BenchError(
                "a region ends that has not begun", where=place,
                hint="begin it with <!-- bench:begin report=NAME -->, or take this line out",
            )  # fmt: skip
        else:
            raise BenchError(
                f"unknown marker 'bench:{word}'", where=place, hint="bench:begin or bench:end"
            )
    if begin:
        raise BenchError(
            "a region has no end", where=f"{name}:{begin[0]}",
            hint="end it with <!-- bench:end --> on a line of its own",
        )  # fmt: skip
    return Document(name, lines, tuple(regions))


def _refuse_nearly(line: str, place: str) -> None:
    """Raises BenchError for a line that resembles a marker and is none."""
    if "<!--" in line and _NEARLY.search(_SPAN.sub("", line)):
        raise BenchError(
            "a marker that is not written as one",
            why=f"{line.strip()!r} is passed by", where=place,
            hint="<!-- bench:begin report=NAME --> in small letters, alone on its line, not in a"
            " quote; as an example, in `code`",
        )  # fmt: skip


def _options(rest: str, place: str) -> dict[str, str]:
    closed = _CLOSED.match(rest)
    if not closed:
        behind = "-->" in rest
        raise BenchError(
            "a marker is not alone on its line" if behind else "a marker is not closed on its line",
            why=f"after --> stands {rest.partition('-->')[2].strip()!r}" if behind else "",
            where=place, hint="<!-- bench:begin report=NAME --> on one line, alone",
        )  # fmt: skip
    text, options = closed["options"], dict[str, str]()
    at = 0
    while text[at:].strip():
        match = _OPTION.match(text, at)
        if not match or (match.end() < len(text) and not text[match.end()].isspace()):
            raise BenchError(
                f"an option of a marker cannot be read: {text[at:].strip()!r}", where=place,
                hint="""NAME=VALUE, and a value with blanks in quotes, as in where='tp = 4'""",
            )  # fmt: skip
        if match["name"] in options:
            raise BenchError(f"the option {match['name']!r} stands twice in a marker", where=place,
                             hint="leave one out")  # fmt: skip
        value = match["value"]
        options[match["name"]] = "" if value is None else _unquoted(value)
        at = match.end()
    return options


def _checked_options(options: dict[str, str], place: str) -> dict[str, str]:
    for name, value in options.items():
        if name not in FLAGS | VALUES:
            raise BenchError(f"unknown option {name!r} in a marker", where=place,
                             hint=_nearest(name, sorted(FLAGS | VALUES)))  # fmt: skip
        if (name in FLAGS) == bool(value):
            why = "it is a word without a value" if name in FLAGS else "it has no value"
            raise BenchError(f"the option {name!r} of a marker is wrong", why=why, where=place,
                             hint=name if name in FLAGS else f"{name}=VALUE")  # fmt: skip
    if ("report" in options) == ("table" in options):
        both = "report" in options
        raise BenchError(
            "a marker names both a report and a table" if both else "a marker names no report",
            where=place, hint="report=NAME or table=FILE:N",
        )  # fmt: skip
    if "table" in options and (wrong := sorted(set(options) - {"table", "from"})):
        raise BenchError(
            f"the option {wrong[0]!r} of a marker has no meaning with table=", where=place,
            why="a table is written as it was published", hint="leave it out, or report=sweep",
        )  # fmt: skip
    return options


def _digest(options: dict[str, str], place: str) -> str | None:
    found = options.pop("digest", None)
    if options or (found is not None and not _DIGEST.fullmatch(found)):
        raise BenchError("the end marker cannot be read", where=place,
                         hint="<!-- bench:end -->; bench writes the digest")  # fmt: skip
    return found


def _nearest(word: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word.casefold(), known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"{meant}known: {', '.join(known)}"


def _unquoted(value: str) -> str:
    return value[1:-1] if value[0] in "\"'" else value


def _plain(text: str, indent: str) -> str:
    lines = [line.removeprefix(indent) if indent else line for line in text.split("\n")]
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def _blank(lines: Sequence[str]) -> list[str]:
    """The blank lines at the start of a text."""
    count = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    return list(lines[:count])


def _with_digest(line: str, written: str) -> str:
    head, _, rest = line.partition("bench:end")
    return f"{head}bench:end digest={written} -->{rest[len(rest.rstrip(chr(13) + chr(10))) :]}"


def _blocks(text: str) -> tuple[set[int], set[int]]:
    """The lines that markdown shows as code, where a marker is an example, and those of HTML opened
    on another line."""
    from markdown_it import MarkdownIt

    # A carriage return alone ends a line in markdown, but not here.
    tokens = MarkdownIt("commonmark").parse(re.sub(r"\r(?!\n)", " ", text))
    code: set[int] = set()
    html: set[int] = set()
    for token in tokens:
        if token.map and token.type in ("fence", "code_block"):
            code.update(range(token.map[0] + 1, token.map[1] + 1))
        elif token.map and token.type == "html_block":
            html.update(range(token.map[0] + 2, token.map[1] + 1))
    return code, html
