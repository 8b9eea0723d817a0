"""Known vulnerabilities of locked packages: `python tests/vulnerabilities.py requirements.lock`.

pip-audit calls a package that its data does not have fine: here that is told, and loudly.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LIMIT_S = 120
SKIPPED = "*** known vulnerabilities: SKIPPED, {} ***"


def audited(lock: str) -> list[dict[str, Any]] | str:
    """pip-audit's answer for each package, or why there is none."""
    command = [
        str(Path(sys.executable).with_name("pip-audit")), "--require-hashes", "--disable-pip",
        "--progress-spinner", "off", "--format", "json", "--requirement", lock,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {LIMIT_S} s"
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        return done.stderr.strip().rpartition("\n")[2] or "no answer"
    return found


def told(found: list[dict[str, Any]] | str) -> tuple[int, str]:
    """The exit status, and what is said."""
    if isinstance(found, str):
        return 0, SKIPPED.format(found)
    known = [one for one in found if "vulns" in one]
    if not known:
        return 0, SKIPPED.format(f"the data of none of {len(found)} packages can be had")
    lines = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions'])}"
        for one in known for flaw in one["vulns"]
    ]  # fmt: skip
    lines.append(f"{len(lines)} known vulnerabilities in {len(known)} packages")
    if unknown := [one["name"] for one in found if "vulns" not in one]:
        lines.append(SKIPPED.format(f"there is no data of {', '.join(unknown)}"))
    return int(any(one["vulns"] for one in known)), "\n".join(lines)


if __name__ == "__main__":
    status, text = told(audited(sys.argv[1]))
    print(text, file=sys.stderr if SKIPPED[:3] in text else sys.stdout)
    sys.exit(status)
