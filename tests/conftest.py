"""What holds for every test: a place of its own, never the user's home, no silent skip in CI."""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from base.host_homes import MOVED
from tests.marks import (
    COLLECTED,
    HOSTS,
    MARKS,
    MORE,
    ONE_OF,
    SMOKE,
    UNIT,
    is_smoke,
    kind_of,
    mark_of,
    may_be_fast,
    may_have,
)

pytest_plugins = ["tests.flaky"]

# The same examples every time, nothing kept between runs, and no judgement by time.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.register_profile("long", settings.get_profile("repeatable"), max_examples=5_000)

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}
_started: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="unit tests and a sandbox smoke alone")
    parser.addoption("--all", action="store_true", help="what repeats, takes long, or drives hosts")
    parser.addoption("--long", action="store_true", help="fuzz and differential tests at length")


def pytest_configure(config: pytest.Config) -> None:
    """Have Ctrl-C reach what tests start, also where a shell started them in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    settings.load_profile("long" if config.getoption("--long") else "repeatable")
    importlib.import_module("pyseccomp")  # which looks for its library by a process, once
    sys.addaudithook(lambda event, _: _started.append(event) if event in STARTS else None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --fast, or where one mark alone is asked for, read no file that has no such test."""
    if not collection_path.name.startswith("test_"):
        return None
    mark, is_fast = config.getoption("markexpr"), config.getoption("--fast")
    if mark not in ONE_OF and not is_fast:
        return None
    file = collection_path.relative_to(config.rootpath).as_posix()
    is_wanted = (mark not in ONE_OF or may_have(file, mark)) and (not is_fast or may_be_fast(file))
    return None if is_wanted else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test its mark, and leave out what was not asked for.

    What takes minutes begins first, so that no worker is left with it at the end.
    """
    for item in items:
        item.add_marker(mark_of(item.nodeid))
        if is_smoke(item.nodeid):
            item.add_marker(SMOKE)
    config.stash[COLLECTED] = frozenset(item.nodeid for item in items)
    items.sort(key=lambda item: item.get_closest_marker("identity") is None)
    kept, left_out = [], []
    for item in items:
        (kept if _is_asked_for(item, config) else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def _is_asked_for(item: pytest.Item, config: pytest.Config) -> bool:
    """Tell whether a test runs: by --fast, --all, its mark, id or file, or as one of the default.

    Hosts' own files do not ask for them: each starts programs that talk to an endpoint.
    """
    option = config.getoption
    has = item.get_closest_marker
    if option("--fast"):
        return bool(has(UNIT) or has(SMOKE))
    by_id = any("::" in argument for argument in config.args)  # as a failed test is run again
    if option("--all") or by_id:
        return True
    if has(HOSTS):
        return bool(re.search(rf"\b{HOSTS}\b", option("markexpr") or ""))
    by_file = config.args_source is pytest.Config.ArgsSource.ARGS
    return not has(MORE) or by_file or bool(option("markexpr") or option("keyword"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """A unit test that starts a process fails, whatever else comes of it."""
    before = len(_started)
    yield
    if kind_of(item.nodeid) == UNIT and len(_started) > before:
        raise AssertionError(f"marked unit, and started a process: {_started[before:]}")


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether fuzz and differential tests are to take their time."""
    return bool(request.config.getoption("--long"))


@pytest.fixture(autouse=True)
def _no_real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the real configuration, data or terminal has a say."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in {"CONTEXT_MODE_DIR", *(variable for _, variable, _ in MOVED)}:
        if not name.startswith("XDG_"):
            monkeypatch.delenv(name, raising=False)
    # Tests of the shared instance end theirs; others leave no process behind.
    monkeypatch.setenv("CONTEXT_MODE_INSTANCE_SHARED", "off")
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
