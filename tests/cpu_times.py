"""Which test files cost processor time, their programs included: `pytest --cpu-times`.

Wall time says little on a machine that does other things as well; processor time stays.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator

import pytest

SHOWN = 40
PHASE = "processor_s"  # on each report of a phase: setup, call, teardown


def used() -> float:
    """Processor seconds of this process and of its children that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, kinds))


class CpuTimes:
    """A plugin: each worker measures, the process that reports sums up by file."""

    def __init__(self) -> None:
        self.before = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = used()
        vars(report)[PHASE] = now - self.before  # xdist carries what a report has more
        self.before = now
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        seconds: dict[str, float] = defaultdict(float)
        tests: dict[str, set[str]] = defaultdict(set)
        for reports in terminalreporter.stats.values():
            for report in reports:
                if isinstance(report, pytest.TestReport):
                    file = report.nodeid.partition("::")[0]
                    seconds[file] += vars(report).get(PHASE, 0.0)
                    tests[file].add(report.nodeid)
        if not seconds:
            return
        terminalreporter.section(f"processor time: {sum(seconds.values()) / 60:.1f} minutes")
        for file in sorted(seconds, key=seconds.__getitem__, reverse=True)[:SHOWN]:
            terminalreporter.line(f"{seconds[file]:7.1f} s {len(tests[file]):5} tests  {file}")
