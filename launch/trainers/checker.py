"""The reference trainer asked as a program: its flags are the contract; none of it is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ...schema.errors import BenchError


@dataclass(frozen=True, slots=True)
class Answers:
    """The device here, and what each list of flags comes to."""

    device: str | None
    sizes: list[dict[str, object]]


def ask(flags: Sequence[Sequence[str]]) -> Answers:
    """What `bench.trainer.check` says of such runs; nothing is started, and torch is not needed."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.trainer.check"],
        input="".join(json.dumps(list(words)) + "\n" for words in flags),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError("the trainer cannot be asked", why=done.stderr.strip()[-400:])
    first, *answers = map(json.loads, done.stdout.splitlines())
    return Answers(first["device"], answers)
