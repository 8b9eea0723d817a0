"""Output to stderr: errors, messages, progress; and the exit code of the program."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, TextIO

import typer
from typer.main import get_command

from ..schema import own_process
from ..schema.errors import FOUND, INTERRUPTED, BenchError
from ..schema.errors import did_you_mean as did_you_mean
from ..vocabulary import output_recording

_QUERY_INTERRUPTED = "Query interrupted"  # DuckDB's message for Ctrl-C
PIPE_CLOSED = 128 + 13  # a shell's code for a program ended by SIGPIPE
RED, YELLOW, PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[0m"
CLEAR = "\r\x1b[K"
_SHOWN = 10  # contradictions printed
_INVALID = re.compile(
    r"(Invalid value for [^:]{1,99}): (.{0,4000}?)(?:; (use .{1,999}))?$", re.DOTALL
)

# typer bundles click since 0.26 and imported it before: this base class exists in both.
_ClickException: type[Exception] = typer.BadParameter.__mro__[2]


@dataclass
class Volume:
    """The verbosity: set by `-q` and `-v`, read by every message."""

    quiet: bool = False
    verbose: bool = False


volume = Volume()


def run(app: typer.Typer) -> NoReturn:
    """Run the program and exit with its code; bad input never shows a traceback."""
    _open_closed()
    own_process.end(exit_code(app, sys.argv[1:]))


def _open_closed() -> None:
    """Open streams closed before the start (`>&-`) as /dev/null, so that no file gets their fd."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (until the program ends)


def exit_code(app: typer.Typer, args: Sequence[str]) -> int:
    """Run the program and return its exit code; errors are printed to stderr."""
    volume.quiet = volume.verbose = False
    try:
        return _guarded(app, args)
    except BrokenPipeError:
        _silence()
        return PIPE_CLOSED


def _guarded(app: typer.Typer, args: Sequence[str]) -> int:
    try:
        code = _invoke(app, args)
        _flush()
        return code
    except _ClickException as error:
        fail(_misused(error))
        return int(getattr(error, "exit_code", FOUND))
    except BenchError as error:
        fail(error)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _write("interrupted")
        return INTERRUPTED
    except RuntimeError as error:
        if str(error) != _QUERY_INTERRUPTED:
            raise
        _write("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(_as_error(error))
        _silence()
        return FOUND


def _invoke(app: typer.Typer, args: Sequence[str]) -> int:
    command = get_command(app)
    if "_BENCH_COMPLETE" in os.environ:
        command.main(list(args), prog_name="bench")
    try:
        with command.make_context("bench", list(args)) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0


def _misused(error: Exception) -> BenchError:
    """A usage error of typer as a BenchError: what, why, hint."""
    from ..vocabulary.validation import plain_reason

    message = plain_reason(str(getattr(error, "format_message", error.__str__)()))
    match = _INVALID.match(message)
    what, why, use = match.groups("") if match else (message.rstrip("."), "", "")
    command = getattr(getattr(error, "ctx", None), "command_path", "bench")
    hint = f"{use.rstrip('.')}; {command} -h" if use else f"{command} -h"
    return BenchError(what, why=why.rstrip("."), hint=hint)


def _as_error(error: OSError) -> BenchError:
    # The error of a full disk has no file name if it is that of stdout.
    where = "" if isinstance(error.filename, int) else os.fsdecode(error.filename or "")
    what = "file error" if where else "cannot write the output"
    return BenchError(what, why=error.strerror or str(error), where=where)


def fail(error: BenchError) -> None:
    """Print an error: what, why, where, hint."""
    _write(_without_secrets(str(error)), _tag("error", RED))


def warn(text: str) -> None:
    """Print a warning, unless `-q`."""
    if not volume.quiet:
        _write(_line(_without_secrets(text)), _tag("warning", YELLOW))


def warn_of(found: Sequence[str]) -> None:
    """Warn of annotations contradicted by sources; prints only the first ones."""
    for text in found[:_SHOWN]:
        warn(text)
    if len(found) > _SHOWN:
        query = "FROM annotations WHERE outcome = 'contradicts'"
        warn(f'{len(found) - _SHOWN} more contradictions: bench sql "{query}"')


def info(text: str) -> None:
    """Print a message, unless `-q`."""
    if not volume.quiet:
        _write(_line(text))


def detail(text: str) -> None:
    """Print a message only with `-v`."""
    if volume.verbose and not volume.quiet:
        _write(_line(text))


class Progress:
    """A progress line on stderr: only on a terminal, cleared at the end."""

    def __init__(self, label: str) -> None:
        self.label, self.done = label, 0
        self._began = self._drawn = 0.0
        self._visible = False

    def __enter__(self) -> Progress:
        self._began = time.monotonic()
        _live.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        _live.remove(self)
        if volume.verbose and not _is_terminal(sys.stderr):
            detail(f"{self._line()} in {time.monotonic() - self._began:.1f} s")

    def advance(self, label: str | None = None) -> None:
        """Count one more; redraws at most ten times a second."""
        self.done += 1
        self.label = label or self.label
        now = time.monotonic()
        if now - self._drawn >= 0.1 and not volume.quiet and _is_terminal(sys.stderr):
            self._drawn, self._visible = now, True
            sys.stderr.write(CLEAR + self._line()[: _width() - 1])
            sys.stderr.flush()

    def clear(self) -> None:
        """Clear the line; the next `advance` draws it again."""
        if self._visible:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
            self._visible = False

    def _line(self) -> str:
        return " ".join(_line(self.label).split()) + f" {self.done:,}"


class WaitNotice(Progress):
    """The seconds that a step takes which counts nothing, from the first second on."""

    def __enter__(self) -> WaitNotice:
        super().__enter__()
        self._ended = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)
        if not volume.quiet and _is_terminal(sys.stderr):
            self._clock.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._clock.is_alive():
            self._clock.join()
        super().__exit__(*error)

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            self.advance()

    def _line(self) -> str:
        return f"{_line(self.label)}: {time.monotonic() - self._began:.0f} s"


_live: list[Progress] = []


def _clear_progress() -> None:
    for progress in _live:
        progress.clear()


def _write(text: str, tag: str = "") -> None:
    """Write a message to stderr; only `tag` may have colours."""
    # Imported late: most commands print no message.
    from ..vocabulary.printable import logged, terminal

    _clear_progress()
    safe = logged("\n".join(map(terminal, text.split("\n"))))
    encoding = sys.stderr.encoding or "utf-8"
    text = f"{tag} {safe}" if tag else safe
    to_stderr(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def to_stderr(text: str) -> None:
    """Write a text that is safe for a terminal."""
    output_recording.note("stderr", text)
    sys.stderr.write(text)
    sys.stderr.flush()


def _without_secrets(text: str) -> str:
    """The text with secrets redacted: errors and warnings may quote some."""
    from ..vocabulary.secrets import redact_lines

    return redact_lines(text)


def _line(text: str) -> str:
    """The text on one line: a line end in a file name must not fake a message."""
    from ..vocabulary.printable import terminal

    return terminal(text)


def _tag(word: str, colour: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return f"{word}:" if plain or not _is_terminal(sys.stderr) else f"{colour}{word}:{PLAIN}"


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty()


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def _flush() -> None:
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: closed by the parent process
        stream.flush()


def _silence() -> None:
    # Python flushes again at exit, and would print an error for the closed pipe or full disk.
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            _to_null(stream)


def _to_null(stream: TextIO) -> None:
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except io.UnsupportedOperation:
        return
