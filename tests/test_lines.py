"""Bytes to lines: ends, carriage returns, colours, damage, prefixes, and bounded memory."""

import io

import pytest

from bench.ingest.logs import lines
from bench.ingest.logs.lines import declared_prefixes, peel, read_lines


def texts(data: bytes) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in read_lines(io.BytesIO(data))]


def test_only_line_feeds_end_lines() -> None:
    assert texts("a\r\nb\x0cc\u2028d\n\ne".encode()) == [
        (1, "a"),
        (2, "b\x0cc\u2028d"),
        (3, ""),
        (4, "e"),
    ]


def test_pieces_between_carriage_returns_share_a_number() -> None:
    assert texts(b"10%\r50%\r100% iteration 1\nnext\r\n") == [
        (1, "10%"),
        (1, "50%"),
        (1, "100% iteration 1"),
        (2, "next"),
    ]


def test_colours_nul_and_byte_order_mark_go() -> None:
    data = b"\xef\xbb\xbf\x1b[93m [WARNING] \x1b[0m a\0b\x1b[H\x1b[2J\x1b]0;title\x07c\n"
    assert texts(data) == [(1, " [WARNING]  abc")]


def test_bytes_that_are_no_utf8_are_counted() -> None:
    found = list(read_lines(io.BytesIO("bad \ufffd ".encode() + b"\xff\xfe ok\nfine\n")))
    assert [(line.text, line.errors) for line in found] == [
        ("bad \ufffd \ufffd\ufffd ok", 2),
        ("fine", 0),
    ]


def test_a_line_too_long_is_cut_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PIECE_LIMIT", 64)
    data = b"x" * 1000 + b"\nshort\n" + b"y" * 60 + b"\r" + b"z" * 60 + b"\rend\nlast"
    found = list(read_lines(io.BytesIO(data)))
    assert [(line.number, len(line.text), line.cut) for line in found] == [
        (1, 64, True),
        (2, 5, False),
        (3, 60, False),
        (3, 60, False),
        (3, 3, False),
        (4, 4, False),
    ]


class Endless(io.RawIOBase):
    """A stream that would break the memory of a reader that asks for all of it."""

    def __init__(self, chunks: int) -> None:
        self.chunks, self.largest = chunks, 0

    def readline(self, size: int | None = -1, /) -> bytes:
        assert size is not None and 0 < size <= 1 << 21
        self.chunks -= 1
        return b"z" * size if self.chunks > 0 else b""


def test_no_more_than_a_piece_is_asked_for() -> None:
    (line,) = read_lines(Endless(50))  # type: ignore[arg-type]  # 50 MiB without an end
    assert line.cut and len(line.text) == lines.PIECE_LIMIT


def cases() -> list[tuple[str, str, str]]:
    found = []
    for prefix in declared_prefixes():
        samples = prefix["sample"]
        assert isinstance(samples, list) and samples
        found += [(str(prefix["name"]), sample["line"], sample["text"]) for sample in samples]
    return found


@pytest.mark.parametrize(("name", "line", "text"), cases())
def test_every_declared_prefix_is_peeled(name: str, line: str, text: str) -> None:
    prefixes, rest = peel(line)
    assert rest == text
    assert prefixes and all(prefix in line for prefix in prefixes)


@pytest.mark.parametrize(
    "text",
    [
        " [2026-11-20 09:08:24.442096] iteration        1/       5 | x",
        "iteration=10/1000 | x",
        "  hidden_size ..................... 128",
        "/job/12 x",
        "[after training is done] datetime: 2026-11-20 09:08:24.825013 ",
    ],
)
def test_what_the_program_prints_stays(text: str) -> None:
    assert peel(text) == ((), text)
