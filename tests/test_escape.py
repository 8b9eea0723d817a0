"""Text stays readable and becomes nothing else: checked by rendering it."""

import csv
import html as stdlib_html
import io
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bench.notebook.frame import Frame
from bench.reports.escape import (
    FILTERS,
    csv_cell,
    html,
    markdown_cell,
    markdown_text,
    verbatim_cell,
)
from bench.vocabulary.printable import (
    Commands,
    json_text,
    logged,
    terminal,
    visible,
    workflow_command,
)
from tests.hostile_commands import is_obeyed
from tests.pages import inline

MARKDOWN = MarkdownIt("commonmark").enable("table").enable("strikethrough")
PIECES = st.sampled_from(
    [
        *"|\\`<>[]()!&*_~#-+=:;.\"'/?@^$ 1aB\n\t",
        "<b>",
        "</a>",
        "<!-- x -->",
        "<!",
        "<?",
        "&amp;",
        "&#1;",
        "![a](b)",
        "[t](u)",
        "[t][u]",
        "](",
        "http://a.b",
        "www.a.b",
        "<a@b.c>",
        "<http://x>",
        "```",
        "~~~",
        "---",
        "===",
        "# ",
        "1. ",
        "- ",
        "> ",
        "    ",
        "\n\n",
        "w\\o",
        "[x]: /y",
        "|---|",
        "\r\n",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=14).map("".join))
HARMLESS = {"text", "text_special", "code_inline", "softbreak"} | {
    f"{name}_{end}" for name in ("em", "strong", "s") for end in ("open", "close")
}


def plain(text: str) -> str:
    """What must survive: all but white space, emphasis, code marks and backslashes."""
    text = printable(text)
    return re.sub(r"[\s\x1c-\x1f\x85\u2028\u2029*_~`\\]+", "", text)


def printable(text: str) -> str:
    """The text with line ends alike, and what is not seen as escapes."""
    lines = re.sub("\r\n?", "\n", text.replace("\0", "\ufffd"))
    return visible(re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", lines))


def shown(tokens: list[Token]) -> str:
    return plain("".join(token.content for token in inline(tokens)))


@given(TEXTS)
@example("a\\|b")
@example("a\\\\|b")
@example("`<b>|`")
@example("trailing \\")
@example("trailing \\\\")
@example("[a`](b)`](c)")
def test_a_cell_renders_as_its_text(text: str) -> None:
    tokens = MARKDOWN.parse(f"|h|k|\n|---|---|\n|{markdown_cell(text)}|end|\n")
    assert [token.type for token in tokens].count("td_open") == 2
    assert {token.type for token in inline(tokens)} <= HARMLESS
    assert shown(tokens) == f"hk{plain(text)}end"


@given(TEXTS)
@example("2&times;4, a&nbsp;b")
@example("C:\\tmp\\")
@example("&#60;b&#62;")
def test_a_cell_that_stood_is_as_harmless(text: str) -> None:
    """Also where entities stand: they show a character, and make no tag, link or image."""
    tokens = MARKDOWN.parse(f"|h|k|\n|---|---|\n| {verbatim_cell(text)} | end |\n")
    assert [token.type for token in tokens].count("td_open") == 2
    assert {token.type for token in inline(tokens)} <= HARMLESS


def test_an_item_of_a_list_defines_no_link() -> None:
    for text in ("[y]: https://e.example", " [y]: e", "[y]:e", "\\[y]: e", "[a\n]: e"):
        tokens = inline(MARKDOWN.parse(f"- {markdown_cell(text)}\n\n![y] [y] [a ]\n"))
        assert {token.type for token in tokens} <= HARMLESS, text


@given(st.lists(TEXTS, min_size=2, max_size=3))
@example(["a ` b", "`<img src=x>` c"])
@example(["``", "`<b>`", "``"])
def test_texts_beside_each_other_are_as_harmless(texts: list[str]) -> None:
    for joined in (" ".join(map(markdown_cell, texts)), " and ".join(map(markdown_text, texts))):
        found = {token.type for token in inline(MARKDOWN.parse(joined))}
        assert found <= HARMLESS, joined


@pytest.mark.parametrize("text", ["2&times;4, a&nbsp;b", "C:\\tmp\\", "a \\| b", "47.0 *"])
def test_a_cell_stands_as_it_stood(text: str) -> None:
    assert verbatim_cell(text) == text


@given(TEXTS)
@example("a\n===")
@example("0```\n<!A```")
@example("| a |\n|---|")
@example("[x\n]: /y")
@example("a\\\nb  \nc")
def test_a_text_renders_as_paragraphs(text: str) -> None:
    tokens = MARKDOWN.parse(f"above\n{markdown_text(text)}\n")
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert {token.type for token in inline(tokens)} <= HARMLESS
    assert shown(tokens) == f"above{plain(text)}"


@pytest.mark.parametrize(
    "text",
    [
        "1.36^/^^",
        "*Mem",
        r"\w Activation, w\o",
        '1 (2.2Hz, "retention_state=0")',
        "- MiB",
        "<10 < 3",
        "[80746] a[0] (x)",
        "a_b_c",
        "28828.5 MiB^",
        "AT&T",
        "14.39†",
        r"a\|b",
        "`<b>`",
        "a -> b",
        "-",
    ],
)
def test_harmless_cells_stand_as_they_stood(text: str) -> None:
    assert markdown_cell(text) == text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a|b", r"a\|b"),
        ("a\r\nb", "a b"),
        ("<b>", r"\<b>"),
        ("&amp;", r"\&amp;"),
        ("[t](u)", r"[t\](u)"),
        ("https://a.b", r"https\://a.b"),
        ("www.a.b", r"www\.a.b"),
        ("\\", "&#92;"),
        ("\ud800", "\ufffd"),
    ],
)
def test_what_is_escaped_in_cells(text: str, cell: str) -> None:
    assert markdown_cell(text) == cell


@pytest.mark.parametrize("text", ["-5", "a # b", "1.5 s", "#tag", "a - b"])
def test_harmless_texts_stand_as_they_stood(text: str) -> None:
    assert markdown_text(text) == text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_html_comes_back(text: str) -> None:
    assert not re.search("[<>\"']", html(text))
    back = stdlib_html.unescape(html(text))
    assert back == printable(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "--",
        "- MiB",
        "-1",
        "-1.5e-3",
        "-1,234.5",
        "-5 GiB",
        "-5%",
        "-inf",
        "-1.5 s/it",
        "-5^",
        "1=2",
        "a@b",
        "−5",
    ],
)
def test_csv_leaves_numbers_and_missing_marks_alone(text: str) -> None:
    assert csv_cell(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        " =1",
        "-cmd|' /C calc'!A0",
        "-2+3+cmd",
        "- A1()",
        "-A1",
        "--num-layers 24",
        "＝1",
        "::error::x",
    ],
)
def test_csv_formulas_are_defused(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")))
def test_csv_survives_the_writer(text: str) -> None:
    page = io.StringIO()
    csv.writer(page).writerow([csv_cell(text), "end"])
    ((cell, end),) = csv.reader(io.StringIO(page.getvalue(), newline=""))
    assert (cell.removeprefix("'"), end) == (text.removeprefix("'"), "end")


@given(st.text())
def test_a_terminal_gets_one_visible_line(text: str) -> None:
    line = terminal(text)
    assert line.isprintable() or not re.search(
        "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", line
    )
    line.encode()


def test_a_terminal_sees_what_was_hidden() -> None:
    text = "a\x1b[31m\u202eb\u200bc\r\nd\te\x9b\U000e0001 ⚠ é"
    assert terminal(text) == r"a\x1b[31m\u202eb\u200bc d e\x9b\U000e0001 ⚠ é"


def test_missing_text_is_empty() -> None:
    assert {function(None) for function in FILTERS.values()} == {""}


COMMANDS = (
    "::error::x",
    "  ::add-mask::x",
    "  ::set-env name=a::b",
    "x ##[add-matcher]a.json",
    "##vso[task.x]",
)


@given(st.one_of(st.text(), st.lists(st.sampled_from([*COMMANDS, *"#[:\n \u2028"])).map("".join)))
@example(COMMANDS[0])
@example(f"a\n{COMMANDS[1]}")
def test_nothing_that_is_logged_is_obeyed(text: str) -> None:
    assert not [line for line in logged(text).split("\n") if is_obeyed(line)]
    assert all(map(is_obeyed, COMMANDS))


def test_commands_of_ours_are_one_line() -> None:
    made = workflow_command("error", "a\n::stop::\x1b", file="x,y\n::z", line=3)
    assert (
        made == "::error file=x%2Cy%0A%3A%3Az,line=3::a%0A::stop::\\x1b\n" == logged(Commands(made))
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("a##[error]b\u202e\x9b")
def test_json_comes_back_and_moves_nothing(text: str) -> None:
    made = json_text({text: [text]}, indent=1)
    assert json.loads(made) == {text: [text]}
    assert logged(made) == made


def test_a_notebook_shows_no_character_that_moves_or_turns_text() -> None:
    text = "A100\x1b[2J\u202e\u2066<b>"
    shown = Frame({"device": [text], text: [1]})._repr_html_()
    assert not any(one in shown for one in "\x1b\u202e\u2066") and "<b>" not in shown
    assert "\\u202e" in shown
