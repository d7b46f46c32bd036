"""A pytest plugin for `./check`: the chosen tests, until their time is over.

It leaves out tests that are neither quick nor changed, ends when the time of the plan is over, and
records how long each file took.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

from tests.marks import SANDBOX, UNIT, mark_of
from tests.selection import OF_COMMANDS, load, save, shorten


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin with the plan that `./check` has written."""
    cache = Path(os.environ["CTXMODE_CHECK"])
    plan = load(cache / "plan.json")
    config.pluginmanager.register(Chosen(**plan, record=cache / "seconds.json"))


class Chosen:
    """Tests of one plan.

    Attributes:
        changed: changed files, by their paths in the checkout.
        until: when no further test begins, on the monotonic clock.
        slowness: how many times longer all takes, as the machine is busy.
        record: file of the seconds that each file of tests takes.
    """

    def __init__(self, changed: list[str], until: float, slowness: float, record: Path) -> None:
        self.changed = changed
        self.until = until
        self.slowness = slowness
        self.record = record
        self.seconds: Counter[str] = Counter()
        self.left: Counter[str] = Counter()

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what is neither quick nor changed."""
        kept, left_out = [], []
        for item in items:
            (kept if is_chosen(item.nodeid, self.changed) else left_out).append(item)
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Pass over a test when the time is over: it counts as neither passed nor failed."""
        if time.monotonic() < self.until:
            return None
        self.left[file_of(item.nodeid)] += 1
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[file_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Record how long each whole file took: a mean, as a machine may be busy."""
        known = load(self.record)
        for file, seconds in self.seconds.items():
            if file not in self.left:
                usual = seconds / self.slowness
                known[file] = round((usual + known.get(file, usual)) / 2, 3)
        save(self.record, known)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left:
            tests = self.left.total()
            terminalreporter.section(f"No time was left for {tests} tests, ./run-tests runs them")
            terminalreporter.line(shorten(list(self.left)))


def file_of(test: str) -> str:
    """Return the file of a test, by its id."""
    return test.partition("::")[0]


def is_chosen(test: str, changed: list[str]) -> bool:
    """Return whether a test of a chosen file runs, by its id."""
    mark, file = mark_of(test), file_of(test)
    if file in changed:
        return True
    if file == OF_COMMANDS:
        return any(f"[{PurePosixPath(page).name}" in test for page in changed)
    return mark in (UNIT, SANDBOX)
