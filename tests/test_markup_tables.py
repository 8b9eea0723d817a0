"""Tables in HTML, reStructuredText and LaTeX are read as those of pipes."""

import pytest

from bench.ingest.documents.grid import Table
from bench.ingest.documents.markdown import Heading, blocks
from bench.ingest.documents.pasted_tables import tabbed_table

HEADINGS = ("GPUs", "TP", "Tokens/s/GPU")
ROWS = [("8", "1", "4,078"), ("16", "2", "3,939")]
HTML = """<h2>Training <em>speed</em></h2>

<table>
<tr><th>GPUs</th><th>TP</th><th>Tokens/s/GPU</th></tr>
<tr>
  <td>8</td>
  <td>1</td><td><b>4,078</b></td>
</tr>
<tr><td>16<td>2<td>3,939</tr>
</table>
"""
GRID = """+------+----+--------------+
| GPUs | TP | Tokens/s/GPU |
+======+====+==============+
| 8    | 1  | 4,078        |
+------+----+--------------+
| 16   | 2  | 3,939        |
+------+----+--------------+
"""
SIMPLE = """====  ==  ============
GPUs  TP  Tokens/s/GPU
====  ==  ============
8     1   4,078
16    2   3,939
====  ==  ============
"""
CSV = """.. csv-table:: Training
    :header: GPUs, TP, Tokens/s/GPU [#]_
    :widths: 10 2 4

    ``8``,1,"4,078"
    16,2 ,"3,939"

..  [#] the mean of 100 steps
"""
LATEX = r"""\begin{tabular}{rrr}
\toprule
GPUs & TP & \textbf{Tokens/s/GPU} \\
\midrule
8 & 1 & $4{,}078$ \\ % best
16 & 2 & 3,939 \\ \bottomrule
\end{tabular}
"""


def table_in(text: str) -> Table:
    return next(block for block in blocks(text) if isinstance(block, Table))


@pytest.mark.parametrize(
    ("text", "lines"),
    [(HTML, [5, 9]), (GRID, [4, 6]), (SIMPLE, [4, 5]), (CSV, [5, 6]), (LATEX, [5, 6])],
)
def test_a_table_of_another_markup(text: str, lines: list[int]) -> None:
    table = table_in(text)
    assert table.header.cells == HEADINGS
    assert [row.cells for row in table.rows] == ROWS
    assert [row.line for row in table.rows] == lines


def test_a_heading_in_html() -> None:
    assert next(iter(blocks(HTML))) == Heading(1, 2, "Training speed")


def test_cells_that_span_stand_in_each_row_and_column() -> None:
    table = table_in(
        "<table><tr><th rowspan=2>GPUs</th><th colspan=2>MFU</th></tr>\n"
        "<tr><th>BF16</th><th>FP8</th></tr>\n"
        "<tr><td rowspan=2>8</td><td>41%</td><td>33%</td></tr>\n"
        "<tr><td>42%</td><td>34%</td></tr></table>"
    )
    assert table.header.cells == ("GPUs", "MFU BF16", "MFU FP8")
    assert [row.cells for row in table.rows] == [("8", "41%", "33%"), ("8", "42%", "34%")]


@pytest.mark.parametrize(
    "text",
    [
        "<table>\n<tr><td>8</td></tr>\n",
        "+--+--+\n| spans |\n+--+--+\n",
        "===  ===\n8    1\n",
        "\\begin{tabular}{l}\n8 & 1 \\\\\n",
        "<table></table>",
    ],
)
def test_what_is_not_closed_is_no_table(text: str) -> None:
    assert not [block for block in blocks(text) if isinstance(block, Table)]


@pytest.mark.parametrize(
    "text",
    [
        ".. csv-table:: no rows\n   :header: a, b\n",
        ".. csv-table:: no headings\n   :header:\n\n   1, 2\n",
        '.. csv-table:: a cell of two lines\n\n   a, b\n   "1\n   2", 3\n',
        ".. csv-table:: another delimiter\n   :delim: word\n\n   a, b\n   1, 2\n",
        ".. csv-table:: from a file\n   :file: other.csv\n",
    ],
)
def test_a_directive_that_is_no_table_here(text: str) -> None:
    assert not [block for block in blocks(text) if isinstance(block, Table)]


def test_a_carriage_return_within_a_row_parts_no_cells() -> None:
    assert table_in(".. csv-table:: x\n\n   a,b\n   1\r2,3\n").rows[0].cells == ("1 2", "3")


def test_a_pasted_table_of_many_rows_is_one() -> None:
    """A hundred lines decide that it is one; those below them are rows, and no headings."""
    lines = ["Config\ttokens/s", *(f"cp8-dp2-gas{n}\t{1000 + n}" for n in range(1, 251))]
    found = tabbed_table([*lines, "", "text"], 0)
    assert found is not None and found.header.cells == ("Config", "tokens/s")
    assert len(found.rows) == 250 and found.last_line == 251
    assert tabbed_table([*lines[:50], "a\tb\tc"], 0) is None
