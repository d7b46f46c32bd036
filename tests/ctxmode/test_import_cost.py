"""Each use of the program imports what it needs and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

PROBE = """
import sys
import ctxmode.cli
sys.stdout = open('/dev/null', 'w')
code = ctxmode.cli.main(sys.argv[1:])
sys.stderr.write(' '.join(sorted(sys.modules)))
sys.exit(code)
"""
HEAVY = {"trio", "mcp", "pydantic", "rich", "sqlite3", "tree_sitter", "pygments", "docker", "httpx"}


@pytest.fixture
def imported(started) -> Callable[..., set[str]]:
    """The modules that one use of the command loads."""

    def load(*arguments: str) -> set[str]:
        done = started(PROBE, *arguments)
        assert done.returncode == 0, done.stderr
        return set(done.stderr.split())

    return load


@pytest.mark.parametrize("arguments", [("--version",), ("--help",)], ids=str)
def test_what_only_tells_loads_none_of_the_rooms(imported, arguments):
    assert not imported(*arguments) & {*HEAVY, "executor", "policy", "kb", "runtimes"}


def test_a_run_loads_neither_the_protocol_nor_what_draws_tables(imported):
    loaded = imported("run", "shell", "-c", "true")
    assert "trio" in loaded
    assert not loaded & {"mcp", "pydantic", "rich", "pygments", "docker", "httpx", "h11"}
    unused = {
        "ctxmode.crash_report",
        "ctxmode.doctor.diagnosis",
        "executor.network.proxy",
        "executor.containers",
    }
    assert not loaded & unused


KEEPING = {
    "kb.store",
    "kb.chunkers",
    "ctxmode.operations.library",
    "ctxmode.operations.usage",
}


def test_a_run_that_prints_little_loads_nothing_of_what_keeps_and_searches(imported):
    loaded = imported("run", "shell", "-c", "true")
    assert not loaded & {
        *KEEPING,
        "ctxmode.operations.searching",
        "ctxmode.operations.batch",
    }


def test_a_run_without_a_session_loads_nothing_of_sessions(imported):
    loaded = imported("run", "shell", "-c", "true")
    names = ("session", "call", "interpreter")
    assert not loaded & {f"executor.sessions.{name}" for name in names}


def test_a_run_that_prints_much_loads_the_store_and_keeps_it(imported):
    loaded = imported("run", "shell", "-c", "seq 10000")
    assert {"sqlite3", "kb.store"} <= loaded


def test_a_search_loads_nothing_of_what_runs_indexes_or_judges(imported):
    loaded = imported("search", "word")
    assert {"sqlite3", "kb.store"} <= loaded
    assert not loaded & {*(HEAVY - {"sqlite3"}), "kb.chunking", "kb.walking", "executor.model"}
    assert not loaded & {"runtimes", "policy", "ctxmode.app", "ctxmode.operations.indexing"}
