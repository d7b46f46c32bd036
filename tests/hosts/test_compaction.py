"""A snapshot of the session is in a host's next request after it compacted (R5), by JSON hooks and
by a plug-in alike (R7): `./run-tests -m hosts`.

The endpoint tells hosts of a full context, and answers their requests for a summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memory.sessions.snapshot import HEAD
from tests.conftest import NOT_APPLICABLE
from tests.hosts.compacting import COMPACTING, Compacting
from tests.hosts.driver import Ground, drive, lay_ground, set_up
from tests.hosts.installing import NotInstalledError, install_host
from tests.hosts.script import Call, Exchange

RUN_SECONDS = 120.0
SNAPSHOT_CHARS = 2500  # 2,048 bytes, and what JSON writes for the ends of its lines
ROUND = 6  # steps before each compaction
FILLER = "A line that has some words in it.\n" * 90  # so that a host's estimate finds it long
FILES = {f"part{n}.txt": f"Part {n}.\n{FILLER}".encode() for n in range(2 * ROUND)}
CASES = [pytest.param(one, id=f"{one.host.name}-user") for one in COMPACTING]


@pytest.fixture
def ground(request: pytest.FixtureRequest, cache: Path, tmp_path: Path) -> Ground:
    """A fresh ground of the case's host."""
    try:
        program, node = install_host(request.getfixturevalue("case").host, cache)
    except NotInstalledError as error:
        pytest.skip(f"{NOT_APPLICABLE}{error}")
    return lay_ground(tmp_path, program, node, FILES)


def _round(case: Compacting, ground: Ground, first: int) -> list[Call]:
    """Steps with a host's own tools; at the last of them it finds its context full."""
    own = case.host.own
    kinds = (
        lambda n: own.shell(f"echo command-{n}"),
        lambda n: own.read(str(ground.project / f"part{n}.txt")),
        lambda n: own.write(str(ground.project / f"made{n}.txt"), f"Made {n}."),
    )
    steps = [kinds[n % len(kinds)](n) for n in range(first, first + ROUND)]
    return [*steps[:-1], replace(steps[-1], context=case.full)]


def _run(case: Compacting, ground: Ground) -> Sequence[Exchange]:
    """All requests of a host that compacts twice, and goes on each time."""
    own = case.host.own
    rounds = [_round(case, ground, first) for first in (0, ROUND)]
    last = [own.shell(f"echo last-{n}") for n in range(3)]

    def register() -> None:
        set_up(ground, case.host.name, "user")

    if not case.again:
        steps = [*rounds[0], *rounds[1], *last]
        ended = drive(case.host, ground, steps, seconds=RUN_SECONDS, register=register)
        return ended.transcript.exchanges
    first = drive(case.host, ground, rounds[0], seconds=RUN_SECONDS, register=register)
    exchanges = list(first.transcript.exchanges)
    again = replace(case.host, words=case.again)
    for steps in (rounds[1], last, last):
        exchanges += drive(again, ground, steps, seconds=RUN_SECONDS).transcript.exchanges
    return exchanges


def _parts(exchanges: Sequence[Exchange]) -> list[list[str]]:
    """The bodies of the conversation's turns, parted by the compactions."""
    parts: list[list[str]] = [[]]
    for before, one in zip((None, *exchanges), exchanges, strict=False):
        if one.kind == "summary" and (before is None or before.kind != "summary"):
            parts.append([])
        elif one.kind == "turn":
            parts[-1].append(one.body)
    return parts


@pytest.mark.parametrize("case", CASES)
def test_a_snapshot_is_back_after_each_compaction(case: Compacting, ground: Ground) -> None:
    parts = _parts(_run(case, ground))
    assert len(parts) >= 3, "it did not compact twice"
    assert not any(HEAD in body for body in parts[0]), "it was there before any compaction"
    for number, bodies in enumerate(parts[1:3]):
        counts = [body.count(HEAD) for body in bodies]
        assert any(counts), f"compaction {number}: no snapshot in {len(counts)} requests after it"
        assert max(counts) == 1, f"compaction {number}: delivered more than once: {counts}"
        # The last: a host may show the one before until the next request.
        with_it = [body for body in bodies if HEAD in body][-1]
        snapshot = with_it[with_it.index(HEAD) :][:SNAPSHOT_CHARS]
        first = ROUND * number
        for named in (f"command-{first}", f"part{first + 1}.txt", f"made{first + 2}.txt"):
            assert named in snapshot, f"compaction {number}: {named} is not in {snapshot}"
