"""Text that attacks is harmless in every format that we write."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.pages import MARKDOWN, bare, inline, split
from tests.program import quick

EVIL = (
    "<script>alert(1)</script> [x](http://evil) ![i](x) `code` ``{{ 7*7 }} {% x %} \x1b[31mred"
    "\x1b[0m \u202edlrow\u202c =cmd() <img src=x onerror=y> www.evil.example &lt; <!-- c -->"
)
ALLOWED = {"text", "text_special", "code_inline", "softbreak", "em_open", "em_close",
           "strong_open", "strong_close"}  # fmt: skip


@pytest.fixture
def hostile(folder: Path) -> Path:
    """A folder with a document whose every text is an attack."""
    written(folder, EVIL.replace("|", ""))
    return folder


def written(folder: Path, head: str) -> None:
    """A document with `head` wherever its author may write."""
    name = "=cmd() [x](evil) <b> `q @.md"
    (folder / name).write_text(
        f"# Title {head} a|b\n\n## 1.3B {head}, Sequence Length=1024, PyTorch {head}\n\n"
        f"| Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs | Notes {head} | Env |\n"
        f"|{'---|' * 11}\n"
        f"| 4 ({head}) | 1.3B | 1 | 4 | 1 | 1 | 1024 | 100.5 | 0.86 | {head} \\| pipe | =cmd() |\n"
        f"| 8 | 1.3B | 2 | 4 | 1 | 1 | 1024 | 50.5 | 0.86 | OOM {head} | @SUM(1) |\n"
        f"| 8 ({head}) | 1.3B | 2 | 4 | 1 | 1 | 1024 | - | - | hang {head} | -2+3 |\n"
        f"| 16 | 1.3B | 4 | 4 | 1 | 1 | 1024 | 30.5 MiB | 0.9 | =cmd() | {head} |\n\n"
        f"### Comments\n- ^ {head}\n- {head}\n"
    )


def test_hostile_text_in_markdown(hostile: Path) -> None:
    for args in (["report", "."], ["runs", ".", "--all"], ["report", "--table", "=cmd"]):
        if "--table" in args:
            assert quick(hostile, "ingest", ".").code == 0
        done = quick(hostile, *args, "--format", "md")
        assert done.code == 0, done.text
        kinds = {token.type for token in inline(MARKDOWN.parse(bare(done.out)))}
        assert kinds <= ALLOWED, kinds - ALLOWED
        assert not [t for t in MARKDOWN.parse(bare(done.out)) if t.type in ("html_block", "fence")]
        assert "{{ 7*7 }}" in done.out and "49" not in re.findall(r"\b\d+\b", done.out)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.out)
        for block in MARKDOWN.parse(done.out):
            if block.type == "table_open" and block.map:
                rows = done.out.splitlines()[block.map[0] : block.map[1]]
                assert len({len(split(row)) for row in rows}) == 1


class Page(HTMLParser):
    """The elements, attributes and links of an HTML text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.links: set[str | None] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value for name, value in attrs if name in ("href", "src", "xlink:href")}

    def handle_comment(self, data: str) -> None:
        self.tags["comment"] += 1


def test_hostile_text_in_html(hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    plain = tmp_path_factory.mktemp("plain")
    written(plain, "a word")
    for args in (["report", "."], ["runs", ".", "--all"], ["show", "=cmd:8", "."]):
        done, beside = (quick(top, *args, "--format", "html") for top in (hostile, plain))
        assert done.code == beside.code == 0, done.text
        found, harmless = Page(done.out), Page(beside.out)
        # What a page is made of does not hang on what its document says.
        assert found.tags.keys() <= harmless.tags.keys()
        assert found.attributes <= harmless.attributes
        for tag in ("script", "style", "title", "meta"):
            assert found.tags[tag] == harmless.tags[tag]
        assert not [link for link in found.links if link and not link.startswith("#")]
        assert "\x1b" not in done.out and "script-src 'unsafe" not in done.out


def test_hostile_text_in_spreadsheets(hostile: Path) -> None:
    formula = re.compile(r"^\s*(=|\+|@|-(?![\d.]|$| ))")
    for form in ("csv", "tsv"):
        for line in (f"report . --format {form}", f"report --table =cmd:1 --format {form}"):
            if "--table" in line and form == "csv":
                assert quick(hostile, "ingest", ".").code == 0
            done = quick(hostile, *line.split())
            assert done.code == 0, done.text
            text = io.StringIO(done.out, newline="")
            rows = list(csv.reader(text, delimiter="\t" if form == "tsv" else ","))
            assert len({len(row) for row in rows}) == 1 and len(rows) == 5
            assert not [cell for row in rows for cell in row if formula.match(cell)]
    done = quick(hostile, "export", "-o", "out", "--format", "csv")
    assert done.code == 0, done.text
    for file in (hostile / "out").iterdir():
        for row in csv.reader(io.StringIO(file.read_text(), newline="")):
            assert not [cell for cell in row if formula.match(cell)], file.name


def test_negative_numbers_stay_numbers(folder: Path) -> None:
    done = quick(folder, "sql", "SELECT -1 AS a, '-' AS b, '-1.5' AS c, -2.5e-3 AS d", "--format",
                 "csv", "--db", "x.duckdb")  # fmt: skip
    assert done.code == 2, "no warehouse yet"
    (folder / "x.md").write_text("| TP | MBS | Sec/it | Notes |\n|-|-|-|-|\n| 1 | 1 | - | -5 |\n")
    assert quick(folder, "report", "x.md", "--table", "x.md:1", "--format", "csv").out == (
        "TP,MBS,Sec/it,Notes\n1,1,-,-5\n"
    )


def test_hostile_text_on_a_terminal_and_in_json(hostile: Path) -> None:
    for line in ("runs . --all --format table", "show =cmd:8 . --format table"):
        done = quick(hostile, *line.split())
        assert done.code == 0, done.text
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.out + done.err)
    notes = json.loads(quick(hostile, "runs", ".", "--all", "--format", "json").out)
    assert len(notes) == 4 and isinstance(notes[0], dict)
    assert json.loads(quick(hostile, "report", ".", "--format", "json").out)["name"] == "1.3B"


def test_hostile_text_in_charts(hostile: Path) -> None:
    assert quick(hostile, "report", ".", "-o", "out").code == 0
    names = sorted(path.name for path in (hostile / "out").iterdir())
    assert len(names) >= 5 and all(re.fullmatch(r"[\w.-]+", name) for name in names)
    for svg in (hostile / "out").glob("*.svg"):
        tree = ElementTree.fromstring(svg.read_bytes())
        tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert not tags & {"script", "image", "a", "foreignObject", "text"}
        assert not [a for e in tree.iter() for a in e.attrib if a.lower().startswith("on")]
    for link in re.findall(r"^!\[.*\]\((.*)\)$", (hostile / "out/1.3B.md").read_text(), re.M):
        assert (hostile / "out" / link).is_file()


def test_hostile_names_of_models(folder: Path) -> None:
    (folder / "x.md").write_text(
        "# ../../../etc/<b>x\n\n| Model | TP | DP | PP | MBS | GBS | Sec/it |\n|-|-|-|-|-|-|-|\n"
        "| ../../evil <b>7B | 1 | 8 | 1 | 1 | 64 | 3.5 |\n"
    )
    before = {path for path in folder.parent.rglob("*") if folder not in path.parents}
    assert quick(folder, "report", "x.md", "-o", "out").code == 0
    assert quick(folder, "report", "x.md", "--model", "7B", "-o", "out").code in (0, 2)
    assert {path for path in folder.parent.rglob("*") if folder not in path.parents} == before
