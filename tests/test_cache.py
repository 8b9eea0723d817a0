"""What is kept of the package's own files between processes."""

from __future__ import annotations

import json
import os
import tomllib
from importlib.resources import files
from pathlib import Path

import jinja2
import pytest

from bench.ingest.logs import dialect
from bench.reports.template_cache import Compiled
from bench.schema.opening import open_write
from bench.vocabulary.package_cache import KEPT, cache_folder, cached, keep, kept_file
from bench.vocabulary.package_toml import declarations, declared


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user's caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "bench"


def test_made_once_for_the_same_bytes(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text("a = 1")
    assert cached("formats", [file], lambda: {"b": 2, "a": 1}) == {"b": 2, "a": 1}
    kept = cached("formats", [file], dict)
    assert list(kept) == ["b", "a"]
    file.write_text("a = 2")
    assert cached("formats", [file], dict) == {}


def test_a_damaged_file_is_made_again(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text("a = 1")
    cached("formats", [file], lambda: {"a": 1})
    [kept] = cache.iterdir()
    kept.write_text('{"a": ')
    assert cached("formats", [file], lambda: {"a": 3}) == {"a": 3}
    assert json.loads(kept.read_text()) == {"a": 3}


def test_a_folder_of_others_is_no_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may have made /tmp/bench, and name any file of its user as another."""
    cache.mkdir(parents=True, mode=0o700)
    cache.chmod(0o777)
    assert cache_folder().stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "geteuid", lambda: cache.stat().st_uid + 1)
    file = tmp_path / "one.toml"
    file.write_text("a = 1")
    assert cached("formats", [file], lambda: {"a": 1}) == {"a": 1}
    assert list(cache.iterdir()) == []
    open_write(tmp_path / "bench.duckdb").close()
    assert list(cache.iterdir()) == []


def test_nobody_else_can_read_what_is_kept(cache: Path) -> None:
    before = os.umask(0)
    try:
        keep(kept_file("answer", "0", ".json"), b"text")
    finally:
        os.umask(before)
    assert {file.stat().st_mode & 0o777 for file in (cache, *cache.iterdir())} == {0o700, 0o600}


def test_few_are_kept(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    for number in range(KEPT + 3):
        file.write_text(str(number))
        cached("formats", [file], lambda: {"a": 1})
    assert len(list(cache.iterdir())) == KEPT


def test_without_a_folder_to_keep_it_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    file = tmp_path / "one.toml"
    file.write_text("a = 1")
    assert cached("formats", [file], lambda: {"a": 1}) == {"a": 1}


def test_declarations_from_the_cache_are_those_of_the_files(cache: Path) -> None:
    for _ in ("made", "read"):
        declared.cache_clear()
        declarations.cache_clear()
        for package, name in (("vocabulary", "fields"), ("ingest.documents", "context")):
            text = (files(f"bench.{package}") / f"{name}.toml").read_text("utf-8")
            assert json.dumps(declared(f"bench.{package}", f"{name}.toml")) == json.dumps(
                tomllib.loads(text)
            )
        rules = declarations("bench.audit", "rules")
        assert rules["r3_aggregate_rate"]["id"] == "R3"
    assert {path.name.partition("-")[0] for path in cache.iterdir()} == {
        "toml_fields", "toml_context", "tomls_rules",
    }  # fmt: skip


def test_formats_from_the_cache_are_those_of_the_files(cache: Path) -> None:
    dialect._dialects.cache_clear()
    fresh = dialect.dialects()
    dialect._dialects.cache_clear()
    kept = dialect.dialects()
    assert [one.name for one in kept] == [one.name for one in fresh]
    assert "sample" not in kept[0].declaration
    for one, other in zip(kept, fresh, strict=True):
        assert one.samples == other.samples
        assert dialect.patterns_of(one) == dialect.patterns_of(other)
    dialect._dialects.cache_clear()


def test_compiled_templates_give_the_same_page(cache: Path, tmp_path: Path) -> None:
    template = tmp_path / "one.j2"
    template.write_text("{% for one in them %}{{ one | upper }}{% endfor %}")
    fresh, kept = (_filled(tmp_path) for _ in range(2))
    assert fresh == kept == "AB"
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", b"cut", b"\0" * 400])
def test_damaged_compiled_templates_are_made_again(
    cache: Path, tmp_path: Path, damage: bytes
) -> None:
    (tmp_path / "one.j2").write_text("{{ them[0] }}")
    _filled(tmp_path)
    [kept] = cache.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage)
    assert _filled(tmp_path) == "a"
    assert kept.read_bytes() == whole


def test_another_users_compiled_template_is_not_loaded(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "one.j2").write_text("{{ them[1] }}")
    _filled(tmp_path)
    [kept] = cache.iterdir()
    kept.chmod(0o666)
    assert _filled(tmp_path) == "b"
    assert kept.stat().st_mode & 0o777 == 0o600  # written anew


def test_without_a_folder_templates_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    (tmp_path / "one.j2").write_text("{{ them[0] }}")
    assert _filled(tmp_path) == "a"


def _filled(folder: Path) -> str:
    """The template of a folder, by an environment of its own."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), bytecode_cache=Compiled(folder)
    )
    return environment.get_template("one.j2").render(them=["a", "b"])
