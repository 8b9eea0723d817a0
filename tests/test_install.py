"""What pip is told, uv is told; where uv cannot be told it, pip installs."""

from pathlib import Path

import pytest

from tests.install import by_uv, settings

FILE = (
    "[global]\nindex-url = https://index/simple\ntimeout = 60\n[install]\nfind-links = /a\n\t/b\n"
)


def test_settings_come_from_files_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.conf").write_text(FILE)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_INDEX_URL", "https://ours/simple")
    told = settings()
    assert told["index-url"] == "https://ours/simple"
    assert told["find-links"].split() == ["/a", "/b"]


def test_uv_is_told_each_index_and_the_certificates() -> None:
    known = by_uv({"index-url": "A", "extra-index-url": "B\nC", "cert": "/ca.pem", "timeout": "60"})
    assert known is not None
    options, environment = known
    assert options[2:] == ["--default-index=A", "--index=B", "--index=C"]
    assert environment["SSL_CERT_FILE"] == "/ca.pem"


@pytest.mark.parametrize("setting", ["no-index", "client-cert", "only-binary", "no-deps"])
def test_what_uv_is_not_told_is_left_to_pip(setting: str) -> None:
    assert by_uv({setting: "true"}) is None
