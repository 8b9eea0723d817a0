"""Rendering of user templates, which may be untrusted, in a confined process.

It has no environment, so no token. After reading its input, it may open no file and no connection,
start no process, and has limits of time, memory and output: `python -m` this module.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..project.short_names import ShortNames
from ..schema.errors import BenchError
from ..vocabulary.hardware import devices
from .templating import OwnTemplate, package_templates, rendered

TIME_S, WALL_S = 10, 60  # of processor, and by the clock on a busy machine
MOST_S, WITHIN_S = 60, 600  # of processor, for all templates within so long by the clock
MEMORY, OUTPUT = 1 << 30, 16 << 20  # bytes
# Needed to find Python and its libraries; nothing else of the environment is passed on.
KEPT = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_FEW = 65_536
_taken: deque[tuple[float, float]] = deque()  # when each template ended, and its processor seconds
# Use modules that Python and Jinja import lazily, which is too late once no file opens.
_FIRST = "{{ 'a' | pprint | wordwrap | urlize | tojson }}{{ [1] | random }}{{ 1 / 0 }}"


def render(
    report: str, names: ShortNames, context: Mapping[str, Any], own: Mapping[str, OwnTemplate]
) -> str:
    """The page as markdown; raises BenchError for a template that fails, or exceeds a limit."""
    if _spent() > MOST_S:
        together = f"with those before it, in {WITHIN_S // 60} minutes"
        raise _exceeded(report, f"{MOST_S} s of processor time {together}")
    given = pickle.dumps((TIME_S, report, names, context, own))
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    answer: dict[str, Any] = {}
    try:
        answer = _answer(report, given, environment)
    finally:  # one that was ended, or said nothing, has taken all that it may
        _taken.append((time.monotonic(), float(answer.get("seconds", TIME_S))))
    if "text" in answer:
        return str(answer["text"])
    raise BenchError(answer["what"], why=answer["why"], where=answer["where"], hint=answer["hint"])


def _answer(report: str, given: bytes, environment: Mapping[str, str]) -> dict[str, Any]:
    """What the process says: a text or an error, and the processor time of the template."""
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", __name__], input=given, stdout=output,
                stderr=subprocess.PIPE, env=environment, timeout=WALL_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise _exceeded(report, f"{WALL_S} s") from error
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            raise _exceeded(report, f"{TIME_S} s of processor time")
        if done.returncode == -signal.SIGXFSZ:
            raise _exceeded(report, f"{OUTPUT >> 20} MiB of text")
        output.seek(0)
        text = output.read(OUTPUT)
    if done.returncode:
        why = done.stderr[-_FEW:].decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise BenchError(f"the template of {report!r} failed", why=why)
    answer: dict[str, Any] = json.loads(text)
    return answer


def _spent() -> float:
    """Processor seconds of the templates of the last minutes: a page may have many regions."""
    while _taken and time.monotonic() - _taken[0][0] > WITHIN_S:
        _taken.popleft()
    return sum(seconds for _, seconds in _taken)


def _exceeded(report: str, limit: str) -> BenchError:
    return BenchError(
        f"the template of {report!r} takes too much", why=f"it may take {limit}",
        hint="mend the template, or leave --templates out",
    )  # fmt: skip


def _confine(seconds: int) -> None:
    """Confine this process to computing."""
    most = {
        resource.RLIMIT_NOFILE: 0, resource.RLIMIT_CPU: seconds, resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: MEMORY, resource.RLIMIT_NPROC: 0, resource.RLIMIT_FSIZE: OUTPUT,
    }  # fmt: skip
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
    for limit, value in most.items():
        resource.setrlimit(limit, (value, value))


def _main() -> None:
    seconds, report, names, context, own = pickle.load(sys.stdin.buffer)
    package_templates()
    devices()  # filters read names of systems, and no file can be opened later
    with suppress(BenchError):
        rendered("", names, {}, {".md.j2": OwnTemplate(_FIRST, "")})
    _confine(seconds)
    # Of the one thread: the clock of a process with a limit on it moves in ticks of milliseconds.
    begun = time.thread_time()
    answer: dict[str, object]
    try:
        answer = {"text": rendered(report, names, context, own)}
    except BenchError as error:
        answer = {"what": error.what, "why": error.why, "where": error.where, "hint": error.hint}
    answer["seconds"] = time.thread_time() - begun
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
