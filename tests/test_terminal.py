"""Options before and after the command, messages, progress and exit codes."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from bench.schema.errors import Locked
from bench.terminal import options as shared
from bench.terminal.command_group import application
from bench.terminal.messages import Progress, exit_code, info, volume, warn
from bench.terminal.tables import Format, render

APP = application("A warehouse.")


@APP.command()
def ingest(
    paths: list[str],
    db: shared.Db = None,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
    lock_timeout: shared.LockTimeout = shared.LOCK_TIMEOUT,
) -> None:
    """Read logs."""
    info("reading")
    warn("one line was odd\x1b[31m")
    print(paths, db, lock_timeout)


@APP.command()
def runs(
    table: shared.Table = None,
    tokens: shared.Tokens = None,
    since: shared.Since = None,
    format: shared.Format = None,
    output: shared.Output = None,
    model: shared.Model = None,
    group: shared.Group = None,
) -> None:
    """List runs."""
    print(table, tokens, since, format, output, model, group)


@APP.command()
def trouble(kind: str) -> None:
    """Fail in some way."""
    if kind == "locked":
        raise Locked("the warehouse is locked", why="pid 7", where="b.duckdb", hint="wait \x1b[2J")
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "interrupt of rows":  # as DuckDB tells of Ctrl-C while it stores a table of Arrow
        raise RuntimeError("Query interrupted")
    if kind == "exit":
        raise typer.Exit(5)
    if kind == "missing":
        Path("/nowhere/at/all").read_text()
    if kind == "endless":
        print("started", flush=True)
        while True:
            print("x" * 1000)


def outcome(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = exit_code(APP, args)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("args", ["-q ingest X", "ingest X -q", "ingest --quiet X", "-qv ingest X"])
def test_quiet_before_and_after(capsys: pytest.CaptureFixture[str], args: str) -> None:
    assert outcome(capsys, *args.split()) == (0, "['X'] None 5.0\n", "")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("--db a.db ingest X", "['X'] a.db 5.0"),
        ("--db=a.db -v ingest X --lock-timeout 2", "['X'] a.db 2.0"),
        ("--db a.db ingest X --db b.db", "['X'] b.db 5.0"),
        ("--db ingest ingest -- -q", "['-q'] ingest 5.0"),
        ("--model runs runs", "None None None None None runs None"),
        ("-ox.md runs", "None None None None x.md None None"),
        ("--format CSV -o - runs --table a:b.md:2", "a:b.md number=2 csv -"),
        ("--tokens 379,584,512,000 runs --group tp,pp", "None 379584512000 None None None tp,pp"),
        ("--since 2024-01-31 runs", "2024-01-31 00:00:00"),
    ],
)
def test_options_in_front(capsys: pytest.CaptureFixture[str], args: str, said: str) -> None:
    code, out, err = outcome(capsys, *args.split())
    assert code == 0, err
    words = out.replace("(", " ").replace(")", " ").replace("'", "").replace(",", " ").split()
    wanted = said.replace("[", "").replace("]", "").replace("'", "").replace(",", " ").split()
    found = " ".join(words).replace("[", "").replace("]", "")
    assert all(word in found for word in wanted)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("--where tp=1 ingest X", "--where"),
        ("--db", "Option '--db' requires an argument"),
        ("-q -o", "Option '-o' requires an argument"),
        ("--bad runs", "--bad"),
        ("rusn", "Did you mean 'runs'?"),
        ("--format xml runs", "'xml'"),
        ("--tokens 1.5 runs", "380B"),
        ("--table a.md:0 runs", "N >= 1"),
        ("--since yesterday runs", "yesterday"),
        ("--lock-timeout -1 ingest X", "--lock-timeout"),
    ],
)
def test_usage_errors_are_typers_own(
    capsys: pytest.CaptureFixture[str], args: str, said: str
) -> None:
    code, out, err = outcome(capsys, *args.split())
    assert (code, out) == (2, "")
    assert said in err and "Traceback" not in err


def test_help_names_the_shared_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "--help")
    assert code == 0
    assert all(name in out for option in shared.SHARED.values() for name in option.names)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("380B", 380 * 10**9),
        ("1.3e12", 13 * 10**11),
        ("379,584,512,000", 379_584_512_000),
        ("362_000", 362_000),
        ("1.5k", 1500),
        ("2 T", 2 * 10**12),
        ("1E3", 1000),
    ],
)
def test_counts(text: str, count: int) -> None:
    assert shared.parse_count(text) == count


@pytest.mark.parametrize("text", ["", "0", "-3", "1.5", "1,3", "1,3000", "B", "3X", "nan", "1e999"])
def test_no_counts(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        shared.parse_count(text)


def test_an_error_is_told_without_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "trouble", "locked")
    assert (code, out) == (4, "")
    assert err.splitlines() == [
        "error: the warehouse is locked",
        "  why: pid 7",
        "  where: b.duckdb",
        "  try: wait \\x1b[2J",
    ]
    assert outcome(capsys, "trouble", "interrupt") == (130, "", "interrupted\n")
    assert outcome(capsys, "trouble", "interrupt of rows") == (130, "", "interrupted\n")
    assert outcome(capsys, "trouble", "exit") == (5, "", "")
    code, _, err = outcome(capsys, "trouble", "missing")
    assert code == 1 and "/nowhere/at/all" in err and "Traceback" not in err


def test_messages_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = outcome(capsys, "ingest", "X")
    assert err == "reading\nwarning: one line was odd\\x1b[31m\n"


PROGRAM = [
    sys.executable,
    "-c",
    "import importlib.util as u, sys; from bench.terminal.messages import run\n"
    f"s = u.spec_from_file_location('t', {__file__!r}); m = u.module_from_spec(s)\n"
    "sys.modules['t'] = m; s.loader.exec_module(m); run(m.APP)",
]


def test_a_closed_pipe_is_no_error() -> None:
    with subprocess.Popen(
        [*PROGRAM, "trouble", "endless"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout and program.stderr
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="NOT TESTED: no /dev/full here")
def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PROGRAM, "runs"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: cannot write the output\n  why: No space left")
    assert done.stderr.count(b"\n") == 2


def test_interrupted_in_one_line() -> None:
    with subprocess.Popen(
        [*PROGRAM, "trouble", "endless"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout
        program.stdout.readline()
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=20)
    assert (program.returncode, err) == (130, b"interrupted\n")


def on_a_terminal(code: str, **environment: str) -> bytes:
    leader, follower = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run(
        [sys.executable, "-c", code],
        stderr=follower,
        check=True,
        env={**clean, "TERM": "xterm", **environment},
    )
    os.close(follower)
    with open(leader, "rb", buffering=0) as stream:
        return stream.read(10_000) or b""


def test_colour_on_a_terminal_only() -> None:
    code = "from bench.terminal.messages import warn; warn('odd')"
    assert on_a_terminal(code) == b"\x1b[33mwarning:\x1b[0m odd\r\n"
    assert on_a_terminal(code, NO_COLOR="1") == b"warning: odd\r\n"


def test_progress_on_a_terminal_is_gone_at_the_end() -> None:
    code = (
        "from bench.terminal.messages import Progress\n"
        "with Progress('reading') as p:\n"
        "    for _ in range(1000): p.advance()\n"
    )
    shown = on_a_terminal(code)
    assert shown.startswith(b"\r\x1b[Kreading 1")
    assert shown.endswith(b"\r\x1b[K") and shown.count(b"reading") <= 3


def test_a_step_that_counts_nothing_shows_its_seconds() -> None:
    code = (
        "import time\nfrom bench.terminal.messages import WaitNotice\n"
        "with WaitNotice('fitting'): time.sleep({})\nimport sys; print('done', file=sys.stderr)\n"
    )
    shown = on_a_terminal(code.format(1.3))
    assert shown.startswith(b"\r\x1b[Kfitting: 1 s") and shown.endswith(b"\r\x1b[Kdone\r\n")
    assert on_a_terminal(code.format(0.1)) == b"done\r\n", "what is quick says nothing"


def test_progress_elsewhere_says_nothing_unless_verbose(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress("reading") as progress:
        progress.advance()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(volume, "verbose", True)
    with Progress("reading") as progress:
        progress.advance()
    assert capsys.readouterr().err.startswith("reading 1 in 0.")


def test_a_narrow_terminal_keeps_the_answer() -> None:
    heads = ("Model", "Nodes", "Sec/it", "Speed-up", "95%", "Verdict")
    rows = [["1.3B", "2 (16)", "10.00", "1.30x", "1.2-1.4x", "faster"]]
    text = render(heads, rows, Format.TABLE, width=40, keep=("Speed-up", "Verdict"))
    assert "1.30x" in text and "faster" in text and text.index("Model") < text.index("Speed-up")
    assert max(map(len, text.splitlines()[:2])) <= 40
    assert "also: 95% (--columns" in text
    rows = [[*rows[0][:-1], "not significant: only 1.2% or more would be"]]
    wrapped = render(heads, rows, Format.TABLE, width=60, keep=("Speed-up", "Verdict")).split()
    assert "not significant: only 1.2% or more would be" in " ".join(wrapped)
    assert "Speed-up" not in render(heads, rows, Format.TABLE, width=30).splitlines()[0]
