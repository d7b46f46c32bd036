"""Failed tests run once more, alone: what passes then is named as flaky, and the run passes.

A defect fails again by itself; a race that was met once among thousands does not. More than three
failures are not run again. `./run-tests` asks for it with --again.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator

import pytest

AGAIN_MAX = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--again", action="store_true", help="run up to three failed tests once more")


class Failures:
    """The ids of the tests that failed."""

    def __init__(self) -> None:
        self.ids: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.ids[report.nodeid] = None


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("--again") and not is_worker:
        config.pluginmanager.register(Failures(), "failures")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    yield
    failures = session.config.pluginmanager.get_plugin("failures")
    if not isinstance(failures, Failures) or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    if not 0 < len(failures.ids) <= AGAIN_MAX:
        return
    print("\n== What failed, once more by itself", flush=True)
    again = [sys.executable, "-m", "pytest", "-q", *failures.ids]
    if subprocess.run(again, cwd=session.config.rootpath, check=False).returncode == 0:
        for test in failures.ids:
            print(f"Flaky, passed by itself: {test}", flush=True)
        session.exitstatus = pytest.ExitCode.OK
