"""Where the warehouse is: flag, environment, bench.toml, default; and errors that point at it."""

from pathlib import Path

import pytest

from bench.project.settings import Settings, find_db, find_templates, read_settings
from bench.schema.errors import BenchError
from tests.program import quick


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BENCH_DB", raising=False)
    (tmp_path / ".git").mkdir()


def test_flag_then_environment_then_file_then_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_db(None, tmp_path) == tmp_path / "bench.duckdb"
    (tmp_path / "bench.toml").write_text('db = "store/all.duckdb"\ntemplates = "mine"\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_db(None, below) == tmp_path / "store/all.duckdb"
    assert find_templates(None, below) == tmp_path / "mine"
    monkeypatch.setenv("BENCH_DB", "env.duckdb")
    assert find_db(None, below) == below / "env.duckdb"
    assert find_db(Path("flag.duckdb"), below) == below / "flag.duckdb"
    assert find_db(Path("/x/flag.duckdb"), below) == Path("/x/flag.duckdb")


def test_a_broken_file_does_not_matter_to_a_flag(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_text("= broken")
    assert find_db(Path("flag.duckdb"), tmp_path) == tmp_path / "flag.duckdb"


def test_the_search_ends_at_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_text('db = "outer.duckdb"\n')
    inner = tmp_path / "inner"
    (inner / ".git").mkdir(parents=True)
    assert read_settings(inner) == Settings()
    assert find_templates(None, inner) is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('# ours\ndatabase = "x"\n', ":2", "database"),
        ('db = "x"\ntemplate = "y"\n', ":2", "did you mean 'templates'"),
        ('[table]\ndb = "x"\n', ":1", "unknown setting 'table'"),
        ("db = 3\n", ":1", "is not a path"),
        ('db = ""\n', ":1", "is not a path"),
        ('db = "x"\n\ndb = = \n', ":3", "not valid TOML"),
        ('db = "x', "bench.toml", "not valid TOML"),
        ('[aliases]\n"a.md" = "two words"\n', ":2", "setting 'aliases.a.md'"),
        ('[aliases]\n"a.md" = "x"\n"b.md" = "x"\n', ":2", "two aliases"),
    ],
)
def test_a_wrong_file_is_told_with_its_line(
    tmp_path: Path, text: str, line: str, words: str
) -> None:
    (tmp_path / "bench.toml").write_text(text)
    with pytest.raises(BenchError) as caught:
        find_db(None, tmp_path)
    assert words in str(caught.value)
    assert "bench.toml" in caught.value.where and line in caught.value.where


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_bytes(b"db = '\xff\xfe'")
    with pytest.raises(BenchError, match="not UTF-8"):
        find_db(None, tmp_path)


def test_an_alias_is_the_name_of_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.decide.lookup import matching
    from bench.project.short_names import ShortNames

    uris = ["runs/a.md", "runs/b__docs__README.md", "old/c.md", "new/c.md"]
    (tmp_path / "bench.toml").write_text(
        '[aliases]\n"a.md" = "bloom"\n"c.md" = "both"\n"new/c.md" = "c2"\n'
    )
    monkeypatch.chdir(tmp_path)
    names = ShortNames(uris)
    assert [names.short(uri) for uri in uris] == ["bloom", "docs__README", "c", "c2"]
    assert names.place("runs/a.md:7") == "bloom:7"
    assert [matching(uris, name, whole=True) for name in ("bloom", "docs__README", "c2")] == [
        [uris[0]], [uris[1]], [uris[3]],
    ]  # fmt: skip
    assert ShortNames(uris, {}).short("runs/a.md") == "a"


def test_a_number_alone_names_no_source(tmp_path: Path) -> None:
    """A file of a number and words goes by its number, of a number by its title; both find it."""
    from bench.project.short_names import ShortNames

    uris = ["a/001_1.3b.md", "a/002.md", "a/003.md", "a/20240501.md"]
    titles = dict.fromkeys(uris, None) | {"a/002.md": "Sweep on `H100`, May"}
    names = ShortNames(uris, {}, titles)
    assert [names.short(uri) for uri in uris] == ["001", "Sweep_on_H100_May", "003", "20240501"]
    rows = (
        "| Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it |\n|---|---|---|---|---|---|---|---|\n"
    )
    (tmp_path / "002.md").write_text(
        f"# Sweep of May\n\n{rows}| 1 | 1.3B | 8 | 1 | 1 | 1 | 64 | 2.5 |\n"
    )
    assert "Sweep_of_May:5" in quick(tmp_path, "best", "002.md", "--model", "1.3B").out
    for name in ("002", "Sweep_of_May", "Sweep_of_May:5"):
        assert quick(tmp_path, "show", name, "002.md").code == 0


def test_a_log_of_a_sweep_is_known_by_its_words() -> None:
    from bench.project.short_names import ShortNames

    uris = [
        "a/001_1.3b.md",
        "a/003_x.md.json",
        "b/04_1.3b_mbs8.log",
        "b/05_124m_mbs1.out",
        "b/06_x",
    ]
    names = ShortNames(uris, {})
    assert [names.short(uri) for uri in uris] == [
        "001", "003", "04_1.3b_mbs8", "05_124m_mbs1", "06_x",
    ]  # fmt: skip


def test_two_sources_never_have_one_name(tmp_path: Path) -> None:
    """A title or the words of a numbered file give way to the file that is called so."""
    from bench.project.short_names import ShortNames

    titles = {"001.md": "notes", "notes.md": "x", "002_1.3b.md": "x", "1.3b.md": "x", "3.md": "-h"}
    names = ShortNames(titles, {}, titles)
    assert [names.short(uri) for uri in titles] == ["001", "notes", "002", "1.3b", "h"]
    rows = "| Nodes | DP | TP | PP | MBS | GBS | Sec/it |\n|" + "---|" * 7 + "\n"
    for name, title in (("001", "Notes"), ("Notes_old", "Others")):
        text = f"# {title}\n\n{rows}| 1 | 8 | 1 | 1 | 1 | 64 | 2.5 |\n"
        (tmp_path / f"{name}.md").write_text(text)
    shown = quick(tmp_path, "show", "Notes:5", ".").out
    assert "001.md:5" in shown and "Notes_old" not in shown, "a name that is the beginning of one"


def test_a_text_that_was_valid_elsewhere_is_not_believed_about_links(tmp_path: Path) -> None:
    """Settings are validated once a text; where their paths lead is looked at each time."""
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True)
        (folder / "bench.toml").write_text('facts = "of_links.toml"\nsources = ["logs"]\n')
        assert read_settings(folder).sources == (folder / "logs",)
    (tmp_path / "two" / "of_links.toml").symlink_to("/etc/passwd")
    with pytest.raises(BenchError, match="outside"):
        read_settings(tmp_path / "two")
    assert read_settings(tmp_path / "one").facts == tmp_path / "one" / "of_links.toml"
