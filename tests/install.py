"""`install.py ENVIRONMENT WORD...`: what `pip install WORD...` does, by uv in a tenth of the time.

uv does not read pip's settings, such as a company's own index: they are handed to it. Where one of
them is not known here, where there is no uv, or where it fails, pip itself installs.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

# Settings of pip, and what uv calls them. All indexes count alike for pip, and so they shall here.
CALLED = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "constraint": "--constraint",
    "trusted-host": "--allow-insecure-host",
}
ALIKE = ("--index-strategy", "unsafe-best-match")
# What changes nothing of what is installed.
IDLE = (
    "cache-dir", "default-timeout", "disable-pip-version-check", "no-cache-dir", "no-color",
    "no-input", "progress-bar", "quiet", "require-virtualenv", "retries", "root-user-action",
    "timeout",
)  # fmt: skip
PIP = (sys.executable, "-m", "pip")
UV = Path(sys.executable).with_name("uv")


def settings() -> dict[str, str]:
    """What pip is told by its files and by the environment, which has the last word."""
    lines = subprocess.run((*PIP, "config", "list"), capture_output=True, text=True, check=True)
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in lines.stdout.splitlines():
        place, _, setting = line.partition("=")[0].rpartition(".")
        if place in found:
            found[place][setting] = ast.literal_eval(line.partition("=")[2])
    return found["global"] | found["install"] | found[":env:"]


def by_uv(told: dict[str, str]) -> tuple[list[str], dict[str, str]] | None:
    """Options of uv and its environment; None if pip is told what uv would not be."""
    told = {setting: value for setting, value in told.items() if setting not in IDLE}
    cert = {"SSL_CERT_FILE": told.pop("cert")} if "cert" in told else {}
    if not told.keys() <= CALLED.keys():
        return None
    options = [f"{CALLED[name]}={value}" for name in told for value in told[name].split()]
    return [*ALIKE, *options], os.environ | cert


def main(environment: str, *words: str) -> int:
    """The exit status of what installs."""
    python = f"{environment}/bin/python"
    known = by_uv(settings()) if UV.exists() else None
    if known:
        command = [str(UV), "pip", "install", "--quiet", "--python", python, *known[0], *words]
        if subprocess.run(command, env=known[1], check=False).returncode == 0:
            return 0
        print("uv did not install; pip instead:", file=sys.stderr)
    command = [*PIP, "--python", python, "install", "--quiet", *words]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
