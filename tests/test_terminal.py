"""Options before and after the command, messages, progress and exit codes."""

import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from bench.ingest.content import stamp_of
from bench.schema.errors import Locked
from bench.terminal import options as shared
from bench.terminal.messages import Progress, exit_code, say, volume, warn
from tests.making import iteration

APP = shared.application("A warehouse.")


@APP.command()
def ingest(
    paths: list[str],
    db: shared.Db = None,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
    lock_timeout: shared.LockTimeout = shared.LOCK_TIMEOUT,
) -> None:
    """Read logs."""
    say("reading")
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
        ("--table a.md:0 runs", "N from 1"),
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
    assert done.stderr.startswith(b"error: the output cannot be written\n  why: No space left")
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
        "with Progress('reading', 1000) as p:\n"
        "    for _ in range(1000): p.advance()\n"
    )
    shown = on_a_terminal(code)
    assert shown.startswith(b"\r\x1b[Kreading 1/1,000 (0%)")
    assert shown.endswith(b"\r\x1b[K") and shown.count(b"reading") <= 3


def test_progress_elsewhere_says_nothing_unless_verbose(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress("reading") as progress:
        progress.advance()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(volume, "verbose", True)
    with Progress("reading") as progress:
        progress.advance(3)
    assert capsys.readouterr().err.startswith("reading 3 in 0.")


def test_help_imports_nothing_heavy() -> None:
    listed = [*PROGRAM[:2], "import bench.terminal.options, sys; print(*sys.modules)"]
    modules = set(subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split())
    assert not modules & {"rich", "duckdb", "pandas", "jinja2", "sqlglot", "numpy"}


def test_a_page_of_the_warehouse_loads_no_reader(data: Path, tmp_path: Path) -> None:
    """A page starts in the time of its libraries: what reads logs and draws stays outside."""
    program = "import sys; from bench.cli import main; sys.argv[1:] = {}; main()"
    ingest = ["ingest", "-q", str(data / "tables"), "--db", "w.duckdb"]
    subprocess.run([sys.executable, "-c", program.format(ingest)], cwd=tmp_path, check=True)
    page = ["report", "--model", "1.3B", "--db", "w.duckdb", "-o", "page.md"]
    modules = imported(page, tmp_path)
    assert "bench.reports.page" in modules
    heavy = {"pyarrow", "pandas", "numpy", "polars", "matplotlib", "markdown_it", "scipy"}
    assert not modules & heavy


def test_reading_goes_without_pandas(data: Path, tmp_path: Path) -> None:
    """PyArrow would import it with its first array, and nothing here uses it."""
    modules = imported(["ingest", "-q", str(data / "logs"), "--db", "w.duckdb"], tmp_path)
    assert "pyarrow" in modules
    assert "pandas" not in modules


def test_steps_of_one_length_are_read_without_polars(tmp_path: Path) -> None:
    lines = [iteration(n, of=9999) for n in range(1000, 1400)]
    (tmp_path / "run.log").write_text("".join(lines))
    modules = imported(["ingest", "-q", "run.log", "--db", "w.duckdb"], tmp_path)
    assert "bench.ingest.aligned" in modules
    assert not modules & {"polars", "pandas"}


def test_known_files_load_no_reader(data: Path, tmp_path: Path) -> None:
    """Ten thousand of them are told in less time than what reads a file takes to be imported."""
    files = shutil.copytree(data, tmp_path / "data", ignore=shutil.ignore_patterns("S*.md", "g*"))
    while not all(stamp_of(path).settled for path in files.rglob("*")):
        pass
    ingest = ["ingest", "data", "-q", "--db", "w.duckdb"]
    assert {"numpy", "pyarrow"} <= imported(ingest, tmp_path)
    modules = imported(ingest, tmp_path)
    assert "bench.ingest.untouched" in modules
    assert not modules & {"numpy", "polars", "pyarrow", "pandas", "bench.ingest.loading"}


@pytest.mark.parametrize(("given", "used"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_reading_starts_no_threads_that_it_has_no_work_for(
    data: Path, tmp_path: Path, given: dict[str, str], used: str
) -> None:
    program = (
        "import atexit, os; atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']));"
        f"from bench.cli import main; import sys; sys.argv[1:] = {['ingest', str(data / 'logs')]};"
        "main()"
    )
    bare = {name: text for name, text in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=bare | given,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == used


def imported(args: list[str], folder: Path) -> set[str]:
    """The modules that a command of the program ends with."""
    program = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules));"
        f"from bench.cli import main; sys.argv[1:] = {args}; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())
