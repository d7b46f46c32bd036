"""What holds for every test: a place of its own, never the user's home, no silent skip in CI."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples every time, nothing kept between runs, and no judgement by time.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")


def pytest_configure() -> None:
    """Have Ctrl-C reach what tests start, also where a shell started them in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the real configuration, data or terminal has a say."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("CONTEXT_MODE_DIR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)  # tables are as wide as they are in a pipe


# A skip whose reason starts so is right wherever its precondition is: nothing is missing.
NOT_APPLICABLE = "not applicable: "


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CTXMODE_REQUIRE_ALL=1 a test that skips, because something is missing here, fails."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple) and call.excinfo:
        path, line, _ = report.longrepr
        reason = _reason(call.excinfo.value)
        report.longrepr = (path, line, f"Skipped: {reason}")
        required = os.environ.get("CTXMODE_REQUIRE_ALL") == "1"
        if required and not reason.startswith(NOT_APPLICABLE):
            report.outcome = "failed"
            report.longrepr = f"skipped, where nothing may be missing: {reason}"
    return report


def _reason(skip: BaseException) -> str:
    """Why a test skips. pytest-trio raises an async test's skip anew, without its reason."""
    inner = skip.__context__
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    return str(inner if isinstance(inner, pytest.skip.Exception) else skip)
