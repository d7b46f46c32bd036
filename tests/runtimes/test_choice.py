"""Which of the toolchains that run is taken."""

from __future__ import annotations

import pytest

from runtimes.discovery import choose as choose_runnable
from runtimes.model import Candidate
from runtimes.registry import language


def result(name, toolchain, start_ms, order, own=False):
    row = language(name)
    (chain,) = (t for t in row.toolchains if t.name == toolchain)
    paths = {role: f"/usr/bin/{order}/{names[0]}" for role, names in chain.executables.items()}
    candidate = Candidate(row, chain, paths, paths, (), (), project_specific=own, order=order)
    return candidate, start_ms


def choose(results, preferred=()):
    return choose_runnable([one for one in results if one[1] is not None], preferred)


@pytest.mark.parametrize(
    ("results", "taken"),
    [
        ([("javascript", "bun", 10, 0), ("javascript", "node", 40, 1)], 0),
        ([("javascript", "bun", 90, 0), ("javascript", "node", 40, 1)], 1),
        ([("javascript", "bun", 45, 0), ("javascript", "node", 40, 1)], 0),
        ([("javascript", "bun", None, 0), ("javascript", "node", 40, 1)], 1),
        ([("csharp", "dotnet", 2000, 0), ("csharp", "mono", 100, 2)], 0),
        ([("csharp", "dotnet", None, 0), ("csharp", "mono", 100, 2)], 1),
        ([("python", "python", 50, 0), ("python", "python", 10, 1)], 0),
        ([("python", "python", 10, 1), ("python", "python", 90, 0, True)], 1),
        ([("python", "python", None, 0, True), ("python", "python", 10, 1)], 1),
        ([("javascript", "deno", 60, 1), ("javascript", "bun", 61, 0)], 1),
    ],
    ids=[
        "the preferred one when fastest",
        "the clearly faster one",
        "the preferred one when about as fast",
        "the one that runs",
        "the abler one however slow",
        "the lesser one when nothing else runs",
        "the first on the search path",
        "the project's own",
        "another when the project's own does not run",
        "by preference and not by the order of arrival",
    ],
)
def test_the_choice_is(results, taken):
    probed = [result(*row) for row in results]
    assert choose(probed) == probed[taken]


def test_nothing_is_chosen_where_nothing_runs():
    assert choose([]) is None
    assert choose([result("javascript", "bun", None, 0)]) is None


def test_a_preferred_toolchain_is_taken_where_it_runs():
    bun, node = result("javascript", "bun", 10, 0), result("javascript", "node", 40, 1)
    assert choose([bun, node], ("node", "bun")) == node
    assert choose([bun, result("javascript", "node", None, 1)], ("node", "bun")) == bun
    assert choose([bun], ("deno",)) == bun
