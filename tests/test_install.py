"""uv gets the settings of pip; with a setting that it has no name for, pip installs."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.install import for_uv, settings, unknown_to_uv

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


def test_uv_gets_each_index_and_the_certificates() -> None:
    several = {"extra-index-url": "B\nC", "find-links": "/a\n/b"}
    environment = for_uv({"index-url": "A", "cert": "/ca", **several})
    assert environment["UV_DEFAULT_INDEX"] == "A" and environment["UV_INDEX"] == "B C"
    assert environment["UV_FIND_LINKS"] == "/a,/b" and environment["SSL_CERT_FILE"] == "/ca"


def test_uv_finds_what_is_in_the_folders_of_pip(tmp_path: Path) -> None:
    """uv itself, without an index: it reads the variables as they are meant."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("this environment was filled by pip")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        info = f"{name}_here-1.0.dist-info"
        with ZipFile(tmp_path / name / f"{name}_here-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{info}/METADATA", f"Name: {name}-here\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\n")
            wheel.writestr(f"{info}/RECORD", "")
    environment = for_uv({"find-links": f"{tmp_path}/one\n{tmp_path}/two"})
    words = ("pip", "install", "--no-index", "--target", tmp_path / "site", "one-here", "two-here")
    done = subprocess.run(
        [uv, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "two_here-1.0.dist-info").is_dir()


def test_a_named_file_of_settings_is_no_reason_for_pip() -> None:
    assert unknown_to_uv({"config-file": "pip.conf", "timeout": "60", "index-url": "A"}) == []


@pytest.mark.parametrize("setting", ["no-index", "client-cert", "only-binary", "no-deps"])
def test_what_uv_has_no_name_for_is_left_to_pip(setting: str) -> None:
    assert unknown_to_uv({setting: "true"}) == [setting]
