"""Every attack of the table against the sandbox that this machine and user get."""

from __future__ import annotations

import contextlib
import re

import pytest
import trio

from executor import Request, Result, Status
from tests.escapes.arena import BENIGN, Arena
from tests.escapes.attack import STARTED, Attack, Control, NotApplicable, NotStopped, Stopped
from tests.escapes.table import ATTACKS

ATTACK_S_MAX = 600  # a hang's; a row of forty runs in gVisor makes a kernel for each
# Where a scenario does the attacking, the program is another tier's; what is committed has a cell
# of its own.
WARM = [
    a
    for a in ATTACKS
    if not a.scenario and a.program and a.program.language in BENIGN and a.profile == "analyze"
]


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.id for attack in ATTACKS])
async def test_attack(attack: Attack, arena: Arena, record_property):
    expected = attack.expected(arena.column)
    record_property("attack", _row(attack, arena))
    if isinstance(expected, NotApplicable):
        assert expected.missing(arena), f"it can be tried here now: {expected.reason}"
        pytest.skip(f"not applicable: {expected.reason}")
    with trio.fail_after(ATTACK_S_MAX):
        if attack.scenario and isinstance(expected, Stopped):
            await attack.scenario(arena)
            return
        with attack.setup(arena) if attack.setup else contextlib.nullcontext({}) as words:
            arena.words |= words
            await _attack(attack, expected, arena)
            following = await arena.executor.run(Request("shell", "echo next"))
            assert following.result.stdout.text == "next\n", following.result.message
            for control in expected.controls if isinstance(expected, Stopped) else ():
                if control.where(arena):
                    await _control(attack, control, arena)


@pytest.mark.tier_a
@pytest.mark.parametrize("attack", WARM, ids=[attack.id for attack in WARM])
async def test_attack_where_something_waited(attack: Attack, arena: Arena):
    """The same where the cell was made, and its interpreter started, before the program came."""
    expected = attack.expected(arena.column)
    if isinstance(expected, NotApplicable):
        pytest.skip(f"not applicable: {expected.reason}")
    assert attack.program is not None
    with trio.fail_after(ATTACK_S_MAX):
        with attack.setup(arena) if attack.setup else contextlib.nullcontext({}) as words:
            arena.words |= words
            more = {"limits": attack.limits, "profile": attack.profile, "stdin": attack.stdin}
            await arena.warm_up(attack.program.language, **more)
            hits = arena.executor.pools[0].hits
            await _attack(attack, expected, arena)
            assert arena.executor.pools[0].hits == hits + 1
            for control in expected.controls if isinstance(expected, Stopped) else ():
                if control.where(arena) and not control.outside:
                    await _control(attack, control, arena, warm=True)


async def _attack(attack: Attack, expected: Stopped | NotStopped, arena: Arena) -> None:
    assert attack.program is not None
    result = await arena.run(
        attack.program, limits=attack.limits, profile=attack.profile, stdin=attack.stdin
    )
    said = _said(result)
    assert STARTED in said, f"{result.status} {result.message}\n{said}"
    wanted = expected.status if isinstance(expected.status, tuple) else (expected.status,)
    assert result.status in wanted, f"{result.status} {result.message}\n{said}"
    _shows(expected.why if isinstance(expected, Stopped) else expected.shows, said, arena)
    if isinstance(expected, Stopped):
        assert arena.canary not in said
    if expected.after:
        expected.after(arena, result)


async def _control(attack: Attack, control: Control, arena: Arena, *, warm: bool = False) -> None:
    program = control.program or attack.program
    assert program is not None
    if control.outside:
        said = await arena.outside(program, control.outside)
        result = Result(Status.OK)
    else:
        result = await arena.run(
            program,
            control.off,
            warm=warm,
            limits=control.limits or attack.limits,
            profile=control.profile or attack.profile,
            stdin=attack.stdin,
        )
        said = _said(result)
        if control.status is not None:
            assert result.status is control.status, f"{result.status} {result.message}\n{said}"
    assert STARTED in said, said
    _shows(control.shows, said, arena)
    if control.after:
        control.after(arena, result)


def _said(result: Result) -> str:
    return f"{result.stdout.text}\n{result.stderr.text}"


def _shows(expressions: tuple[str, ...], said: str, arena: Arena) -> None:
    for expression in expressions:
        for word, value in arena.words.items():
            expression = expression.replace(f"@{word}@", re.escape(value))  # noqa: PLW2901 - word by word
        assert re.search(expression, said, re.MULTILINE), f"no {expression!r} in:\n{said}"


def _row(attack: Attack, arena: Arena) -> dict[str, str]:
    expected = attack.expected(arena.column)
    what, note = {
        Stopped: lambda e: ("stopped", e.layer(arena.column)),
        NotStopped: lambda e: ("not stopped", e.note),
        NotApplicable: lambda e: ("not applicable", e.reason),
    }[type(expected)](expected)
    return {
        "id": attack.id,
        "title": attack.title,
        "column": arena.column,
        "outcome": what,
        "note": note,
    }
