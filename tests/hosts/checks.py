"""The checks of one host in one scope: three runs of it, a removal without any, and times."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from ctxmode.hosts.setup.hosts import SERVER_NAME
from memory.pages.buffers import Buffers
from tests.hosts import plan
from tests.hosts.catalog import PROMPT, DrivenHost
from tests.hosts.conversation import DONE
from tests.hosts.driver import (
    Ended,
    Ground,
    Scope,
    SetUpError,
    begin_pages,
    drive,
    lay_ground,
    set_up,
    write_files,
)
from tests.hosts.outcomes import Kind, Outcome, is_reported
from tests.hosts.script import Shown
from tests.hosts.unfinished_files import UNFINISHED

RUN_SECONDS = 180.0
TIMES = 3
# The nine calls' texts have 13.5 kB, their structured forms 14.6; showing both takes twice that.
BYTES_MAX = 16_000
SLOW_START_SECONDS = 4
WHY_CHARS_MAX = 300
_TOOLS = ("ctx_execute", "ctx_execute_file", "ctx_batch_execute", "ctx_index", "ctx_search")


@dataclass(frozen=True, slots=True)
class Case:
    """What is checked: a host, where it is registered, and its programs."""

    host: DrivenHost
    scope: Scope
    program: Path
    node: Path

    def outcome(self, check: str, kind: Kind, why: str = "", **measured: Any) -> Outcome:
        """An outcome of this case."""
        host = self.host
        return Outcome(host.name, host.version, self.scope, check, kind, why, **measured)

    def decide(self, check: str, held: bool, why: str, **measured: Any) -> Outcome:
        """Held, or failed and why."""
        kind: Kind = "held" if held else "failed"
        return self.outcome(check, kind, "" if held else why, **measured)


def examine(case: Case, folder: Path) -> Iterator[Outcome]:
    """Run a host as often as its checks need; all outcomes, without this run's own folders."""
    outcomes = list[Outcome]()
    try:
        outcomes.extend(_outcomes(case, folder))
    except SetUpError as error:
        outcomes.append(case.outcome("registered", "failed", str(error)))
    for outcome in outcomes:
        why = re.sub(rf"{re.escape(str(folder))}/\w+/", "", " ".join(outcome.why.split()))
        yield replace(outcome, why=why[:WHY_CHARS_MAX])


def _outcomes(case: Case, folder: Path) -> Iterator[Outcome]:
    yield check_removal(case, folder / "removal")
    undone = find_undone(case, folder / "without")
    yield from run_with_us(case, folder / "with", undone)
    yield from run_while_starting(case, folder / "starting")
    yield from measure_times(case, folder / "with", folder / "without")


def lay_plan_ground(case: Case, folder: Path) -> Ground:
    """A fresh ground with the plan's files and rules, and what its deeds would harm."""
    ground = lay_ground(folder, case.program, case.node, plan.FILES)
    plan.outside(ground).mkdir()
    subprocess.run(
        ["git", "init", "-q", "--bare", plan.remote(ground)], env=ground.environment(), check=True
    )
    write_files(ground.home, {".config/ctxmode/policy.toml": plan.RULES})
    return ground


def run_with_us(case: Case, folder: Path, undone: frozenset[str]) -> Iterator[Outcome]:
    """The run with our server and hooks. `undone` are deeds that the host refuses without us."""
    ground = lay_plan_ground(case, folder)
    own = case.host.own
    typical = [typical.call for typical in plan.TYPICAL]
    passed = [deed.make(own, ground) for deed in plan.PASSED]
    refused = [deed.make(own, ground) for deed in (plan.ASKED, *plan.REFUSED)]
    steps = [*typical, *passed, own.shell(plan.CURL), *refused]
    printed: list[str] = []
    ended = drive(
        case.host,
        ground,
        steps,
        seconds=RUN_SECONDS,
        register=lambda: printed.append(set_up(ground, case.host.name, case.scope)),
        scope=case.scope,
    )
    yield case.decide("registered", "wrote" in printed[0] or "changed" in printed[0], printed[0])
    yield from _check_first_turn(case, ended)
    shown = iter(ended.transcript.shown)
    yield from _check_typical(case, ended, [next(shown) for _ in typical])
    yield _check_controls(case, ground, [next(shown) for _ in passed])
    curl = next(shown)
    redirected = plan.REDIRECTED in curl.words
    yield case.decide("hooks fire", redirected, f"{plan.CURL} passed: {_said(curl, ended)}")
    yield _check_asked(case, ground, next(shown), ended)
    yield from _check_refusals(case, ground, list(shown), undone)


def _check_first_turn(case: Case, ended: Ended) -> Iterator[Outcome]:
    if ended.transcript.seconds_to_first is None:
        yield case.outcome("tools in first turn", "failed", ended.describe())
        return
    listed = ended.transcript.first_tools
    missing = [name for name in _TOOLS if not any(one.endswith(name) for one in listed)]
    deferral = case.host.own.deferral
    is_found = all(
        shown.is_offered for shown in ended.transcript.shown if shown.call.tool.startswith("ctx_")
    )
    if missing and deferral and is_found:
        by = deferral.search("").tool
        yield case.outcome("tools in first turn", "held", f"deferred: found by {by}")
    else:
        yield case.decide("tools in first turn", not missing, f"missing: {', '.join(missing)}")


def _check_typical(case: Case, ended: Ended, shown: Sequence[Shown]) -> Iterator[Outcome]:
    right = {
        typical.name: typical.answer in plan.text_of(one)
        for typical, one in zip(plan.TYPICAL, shown, strict=True)
    }
    wrong = [
        f"{typical.name}: {_said(one, ended)}"
        for typical, one in zip(plan.TYPICAL, shown, strict=True)
        if not right[typical.name]
    ]
    five = all(right[name] for name in plan.FIVE)
    yield case.decide("five calls right", five, "; ".join(wrong))
    total = sum(one.bytes_shown for one in shown)
    held = all(right.values()) and total <= BYTES_MAX
    why = f"{total:,} bytes where {BYTES_MAX:,} are enough; {len(wrong)} calls wrong"
    yield case.decide("bytes of nine calls", held, why, bytes_shown=total)


def _check_controls(case: Case, ground: Ground, shown: Sequence[Shown]) -> Outcome:
    stopped = [
        f"{deed.name}: {one.text}"
        for deed, one in zip(plan.PASSED, shown, strict=True)
        if not deed.is_done(ground, one.text or "")
    ]
    return case.decide("harmless calls pass", not stopped, "; ".join(stopped))


def _check_asked(case: Case, ground: Ground, shown: Shown, ended: Ended) -> Outcome:
    if plan.ASKED.is_done(ground, shown.text or ""):
        return case.outcome("ask", "failed", "it was done without a question")
    is_said = plan.ASKED.rule in shown.words
    return case.decide("ask", is_said, f"refused without words: {_said(shown, ended)}")


def _check_refusals(
    case: Case, ground: Ground, shown: Sequence[Shown], undone: frozenset[str]
) -> Iterator[Outcome]:
    for deed, one in zip(plan.REFUSED, shown, strict=True):
        check = f"refuses: {deed.name}"
        if deed.is_done(ground, one.text or ""):
            yield case.outcome(check, "failed", "it was done")
        elif deed.rule in one.words:
            yield case.outcome(check, "held")
        elif one.is_begun and one.text is None and deed.rule in _read_verdicts(ground):
            yield case.outcome(check, "held", "the host ends its run")
        elif deed.name in undone:
            yield case.outcome(check, "not had", f"the host itself refuses it: {one.text}")
        else:
            yield case.outcome(check, "failed", f"not done, and no rule named: {one.text}")


def _read_verdicts(ground: Ground) -> str:
    """The log of verdicts that our hooks wrote in a run."""
    log = ground.home / ".local/share/ctxmode/logs/audit.jsonl"
    return log.read_text() if log.exists() else ""


def _said(shown: Shown, ended: Ended) -> str:
    if not shown.is_offered:
        return "the tool was not offered"
    return shown.text if shown.text is not None else f"no result; the host {ended.describe()}"


def run_while_starting(case: Case, folder: Path) -> Iterator[Outcome]:
    """A redirect as the model's first deed, while the server takes its time to start; then a deed
    that passes, in a project in which turns are captured."""
    ground = lay_plan_ground(case, folder)
    begin_pages(ground)
    own = case.host.own
    slow = ground.home.parent / "slow"
    slow.write_text(
        f'#!/bin/sh\n[ "$1" != serve ] || sleep {SLOW_START_SECONDS}\nexec context-mode "$@"\n'
    )
    slow.chmod(0o755)
    ended = drive(
        case.host,
        ground,
        [own.shell(plan.CURL), plan.PASSED[0].make(own, ground)],
        seconds=RUN_SECONDS,
        register=lambda: set_up(ground, case.host.name, case.scope, "--command", str(slow)),
        scope=case.scope,
    )
    shown = ended.transcript.shown[0]
    redirected = plan.REDIRECTED in shown.words
    yield case.decide("redirect while starting", redirected, f"it passed: {_said(shown, ended)}")
    yield _check_turn(case, ground, ended)


def _check_turn(case: Case, ground: Ground, ended: Ended) -> Outcome:
    """The run is one record of the project's buffer: what was asked, used and answered."""
    buffers = Buffers(ground.project / ".contexo")
    read = filter(None, (buffers.read(one.session) for one in buffers.status()))
    turns = [turn for one in read for turn in one.turns]
    # OpenCode's command line puts what has spaces between quotes.
    told = [(turn.user.strip('"'), turn.assistant, len(turn.tools)) for turn in turns]
    held = told == [(PROMPT, DONE, 1)]
    return case.decide("captures a turn", held, f"captured: {turns}; it {ended.describe()}")


def find_undone(case: Case, folder: Path) -> frozenset[str]:
    """The run without us: the deeds that are not done, though nothing of ours refuses them."""
    ground = lay_plan_ground(case, folder)
    deeds = (plan.ASKED, *plan.REFUSED)
    steps = [deed.make(case.host.own, ground) for deed in deeds]
    ended = drive(case.host, ground, steps, seconds=RUN_SECONDS, scope=case.scope)
    shown = zip(deeds, ended.transcript.shown, strict=True)
    return frozenset(deed.name for deed, one in shown if not deed.is_done(ground, one.text or ""))


def measure_times(case: Case, folder_with: Path, folder_without: Path) -> Iterator[Outcome]:
    """The time to the first request with us and without, in turn, where both have run before.

    Once shows that a request is made; medians need more, where they are reported.
    """
    times = TIMES if is_reported() else 1
    taken: dict[str, list[float]] = {"time with us": [], "time without us": []}
    for _ in range(times):
        for check, folder in zip(taken, (folder_with, folder_without), strict=True):
            ground = Ground.of(folder, case.program, case.node)
            ended = drive(case.host, ground, (), seconds=RUN_SECONDS, scope=case.scope)
            if (seconds := ended.transcript.seconds_to_first) is not None:
                taken[check].append(seconds)
    for check, seconds_taken in taken.items():
        if len(seconds_taken) < times:
            yield case.outcome(check, "failed", "no request was made")
        else:
            yield case.outcome(check, "held", seconds=round(median(seconds_taken), 2))


def check_removal(case: Case, folder: Path) -> Outcome:
    """Registering and removing again, with files of the person's that have no final newline."""
    ground = lay_plan_ground(case, folder)
    planned = json.loads(set_up(ground, case.host.name, case.scope, "--dry-run", "--json"))
    paths = [Path(change["path"]) for change in planned["changes"]]
    theirs = [path for path in paths if SERVER_NAME not in str(path.relative_to(folder))]
    before = {path: UNFINISHED[path.suffix] for path in theirs if path.suffix in UNFINISHED}
    for path, data in before.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    others = _files(ground)
    set_up(ground, case.host.name, case.scope)
    changed = {path for path in before if path.read_bytes() != before[path]}
    set_up(ground, case.host.name, case.scope, "--remove")
    after = _files(ground)
    differing = [str(path) for path in {*others, *after} if others.get(path) != after.get(path)]
    if not changed:
        return case.outcome("removal", "failed", "setup changed nothing")
    return case.decide("removal", not differing, f"not as before: {', '.join(differing)}")


def _files(ground: Ground) -> Mapping[Path, bytes]:
    """All files of the home and the project but what this program keeps of its own."""
    roots = (ground.home, ground.project)
    paths = (path for root in roots for path in root.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in paths if "ctxmode" not in path.parts}
