"""Where the tests find their material."""

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from bench.ci import sticky
from bench.schema.own_process import calculate_alone
from tests.cpu_times import CpuTimes
from tests.deciding import Stored, five_jobs
from tests.hub import Hub, serve
from tests.program import quick, runs_programs
from tests.repositories import cloned
from tests.site_browser import chromium, opens, single, site

# A job in the background ignores Ctrl-C, one of nohup a terminal that is closed, and so would the
# programs that tests end in these ways.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Before NumPy is imported, here and in workers: as the program does for itself. Where processes
# share cores, threads that wait in busy loops took ten times what pages with predictions need.
calculate_alone()
os.environ.setdefault("GOMP_SPINCOUNT", "0")  # those of torch wait asleep

# Each ingest waits some 70 ms for the disk: folders of tests are in memory, where there is much of
# it. In most containers there is little, and in some no program may lie there.
MEMORY = Path("/dev/shm")
if (
    os.access(MEMORY, os.W_OK | os.X_OK)
    and shutil.disk_usage(MEMORY).free > 8 << 30
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# What tests compare is computed each time; those of kept answers take it back.
os.environ["BENCH_FRESH"] = "1"

# A build must not fail by chance: new examples are looked for at home. No machine is too slow.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("home", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")

# Fixtures that more than one file of tests asks for.
__all__ = ["chromium", "cloned", "five_jobs", "opens", "single", "site"]

ROOT = Path(__file__).resolve().parent.parent
# Whole programs that `make test-fast` runs nevertheless: each command once and again.
SMOKE = ("test_cli.py", "test_golden.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest tests/test_reports.py --accept-gold` writes the gold pages anew, to be looked at."""
    parser.addoption("--accept-gold", action="store_true", help="Write tests/gold/ anew.")
    parser.addoption("--cpu-times", action="store_true", help="Processor time by test file.")


def pytest_configure(config: pytest.Config) -> None:
    """What costs is measured where that is asked for, in each worker."""
    if config.getoption("cpu_times"):
        config.pluginmanager.register(CpuTimes())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and 9,000 collected tests stay to the end: nothing looks through them for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first: at the end no process waits long for the other."""
    for item in items:
        if item.path.name not in SMOKE and runs_programs(getattr(item, "function", None)):
            item.add_marker(pytest.mark.programs)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session", autouse=True)
def _memory_is_free_again(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """What passed leaves no folders in memory."""
    yield
    folders = tmp_path_factory.getbasetemp()
    if folders.is_relative_to(MEMORY) and not request.session.testsfailed:
        shutil.rmtree(folders, ignore_errors=True)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Where a warehouse is to be made."""
    return tmp_path / "bench.duckdb"


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository, which is the package."""
    return ROOT


@pytest.fixture(scope="session")
def data(root: Path) -> Path:
    """The logs and tables that come with the repository."""
    return root / "data"


@pytest.fixture(scope="session")
def swept(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of data/ and a bench.duckdb that holds it; tests only read there."""
    folder = tmp_path_factory.mktemp("swept")
    shutil.copytree(data, folder / "data")
    (folder / ".git").mkdir()  # no bench.toml above is looked for
    done = quick(folder, "ingest", "data")
    assert done.code == 0, done.text
    return folder


@pytest.fixture(scope="session")
def stored(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Options for a warehouse of a document of data/tables, or of all: read once for all tests."""

    @cache
    def options(document: str = "") -> tuple[str, str]:
        folder = tmp_path_factory.mktemp("stored")
        (folder / ".git").mkdir()
        (folder / "tables").mkdir()
        for path in sorted((data / "tables").glob(document or "*.md")):
            shutil.copy(path, folder / "tables")
        done = quick(folder, "ingest", "tables")
        assert done.code == 0, done.text
        return "--db", str(folder / "bench.duckdb")

    return options


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder in which no bench.toml from above counts."""
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture(scope="session")
def shared(root: Path) -> Path:
    """The folder beside the repository that holds the whole logs and documents."""
    path = root.parent / "shared"
    if not (path / "golden").is_dir():
        pytest.skip("NOT TESTED: no folder `shared` beside the repository, with logs/ and golden/")
    return path


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """GitHub and GitLab, for as long as a test runs."""
    monkeypatch.setattr(sticky, "WAIT_S", 0.0)
    with serve() as state:
        yield state
