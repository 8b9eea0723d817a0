"""`install.py ENVIRONMENT WORD...`: what `pip install WORD...` does, by uv in a tenth of the time.

uv does not read pip's settings, such as a company's own index, so it gets them by its environment.
pip itself installs where a setting has no counterpart, where there is no uv, or where uv fails.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

# Settings of pip, what uv calls them, and what stands between several. The environment and no
# options: an index may have a password, and every user of a machine sees the options of a process.
CALLED = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
}
# All indexes count alike for pip, which also trusts what the system trusts.
ALIKE = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NATIVE_TLS": "1"}
# What changes nothing of what is installed.
IDLE = (
    "cache-dir", "config-file", "default-timeout", "disable-pip-version-check", "no-cache-dir",
    "no-color", "no-input", "progress-bar", "quiet", "require-virtualenv", "retries",
    "root-user-action", "timeout",
)  # fmt: skip
PIP = (sys.executable, "-m", "pip")
UV = Path(sys.executable).with_name("uv")


def settings() -> dict[str, str]:
    """The settings of pip: those of its files, overridden by the environment."""
    lines = subprocess.run((*PIP, "config", "list"), capture_output=True, text=True, check=True)
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in lines.stdout.splitlines():
        place, _, setting = line.partition("=")[0].rpartition(".")
        if place in found:
            found[place][setting] = ast.literal_eval(line.partition("=")[2])
    return found["global"] | found["install"] | found[":env:"]


def unknown_to_uv(configured: dict[str, str]) -> list[str]:
    """The settings of pip that decide what is installed and that uv has no name for here."""
    return sorted(configured.keys() - CALLED.keys() - set(IDLE))


def for_uv(configured: dict[str, str]) -> dict[str, str]:
    """The environment of uv with the settings of pip."""
    variables = {
        variable: between.join(configured[name].split())
        for name, (variable, between) in CALLED.items()
        if name in configured
    }
    return {**os.environ, **ALIKE, **variables}


def main(environment: str, *words: str) -> int:
    """Install by uv, else by pip; return the exit status."""
    python = f"{environment}/bin/python"
    configured = settings()
    if unknown := unknown_to_uv(configured):
        print(f"pip installs: uv is not given its {', '.join(unknown)}", file=sys.stderr)
    elif UV.exists():
        command = [str(UV), "pip", "install", "--quiet", "--python", python, *words]
        if subprocess.run(command, env=for_uv(configured), check=False).returncode == 0:
            return 0
        print("uv did not install; pip instead:", file=sys.stderr)
    command = [*PIP, "--python", python, "install", "--quiet", *words]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
