"""A worker's slot for one order at a time: its folder, engine and rules."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import trio

import policy
from base.locks import hold_lock
from executor import ANALYZE, Consent, LocalEngine, Request, Settings, open_engine
from executor.instance import remove
from fleet.blob_cache import BlobCache, make_own, renew
from fleet.tree import Digest, digest_of, encode_tree
from policy import Decision, Rule, Rules, lies_in, segment_meets

# The strictest of both decides when they are one set.

NOBODY_ASKED: Final = "a worker's own rules ask, and no user is there to approve"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SAME = ("rule_id", "rule", "file", "line")


_ALL = "/**"
_FOLDERS = "**"


def load_operator_rules(file: Path | None, project: Path, home: Path) -> Rules:
    """Read the operator's rules of a worker; none if there is no such file.

    Raises:
        policy.RuleFileError: the file cannot be used, or others may write to it.
    """
    if file is None:
        return Rules()
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return Rules()
    except OSError as error:
        remedy = "Make it a readable file, or remove it."
        raise policy.RuleFileError(str(file), 1, f"cannot be read: {error}", remedy) from error
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & _OTHERS_WRITE:
        raise policy.RuleFileError(
            str(file), 1, "others may write to it", f"chown {os.geteuid()} it; chmod go-w it"
        )
    return policy.load_file(file, project=project, home=home)


def join(front: Rules, operator: Rules) -> Rules:
    """Return one set of rules by which a worker judges.

    The operator's ask rules deny, since no user is there to approve. Only a side whose default is
    to ask or deny has allow rules: they do not override what the other side forbids.
    """
    restricts = operator.default is not Decision.ALLOW
    of_front = (r for r in front.rules if not restricts or r.decision is not Decision.ALLOW)
    of_operator = (
        _without_asking(r) for r in operator.rules if restricts or r.decision is not Decision.ALLOW
    )
    return Rules(
        rules=(*of_operator, *of_front),
        sources=(*operator.sources, *front.sources),
        default=operator.default if restricts else front.default,
    )


def consent_by(sealed: Mapping[str, Any] | None, operator: Rules) -> Consent:
    """Return the approval that a front has sealed: of the very rules that the user was asked."""
    agreed = sealed if sealed and sealed.get("consent") is True else {}
    asked = None if agreed.get("decision") != "ask" else _rules_that_ask(agreed)

    async def consent(verdict: Mapping[str, Any]) -> bool | None:
        if asked is None:
            return None
        asking = _rules_that_ask(verdict)
        if not asking:  # by the default alone
            return operator.default is not Decision.ASK and not asked
        return asking <= asked

    return consent


def _rules_that_ask(verdict: Mapping[str, Any]) -> frozenset[tuple[Any, ...]]:
    """Return the identity of a verdict's ask rules; a front may have sealed any JSON."""
    matches = verdict.get("matches")
    found = matches if isinstance(matches, list | tuple) else ()
    return frozenset(
        tuple(str(match.get(name)) for name in _SAME)
        for match in found
        if isinstance(match, Mapping) and match.get("decision") == "ask"
    )


def _without_asking(rule: Rule) -> Rule:
    if rule.decision is not Decision.ASK:
        return rule
    return rule._replace(decision=Decision.DENY, reason=rule.reason or NOBODY_ASKED)


def relocate(rules: Rules, project: str, here: str) -> Rules:
    """Translate the rules of a front from its `project` to `here`; both are absolute.

    A rule about the project, or about a folder around it, applies to the same files here. A rule
    about other places is unchanged, unless it would match the folders on the way to `here`.
    """
    moved = tuple(one for rule in rules.rules for one in _relocate(rule, project, here))
    return rules._replace(rules=moved, untrusted=())


def _relocate(rule: Rule, project: str, here: str) -> Iterator[Rule]:
    if rule.kind not in ("read", "edit"):
        yield rule
        return
    if rule.anchor is not None and lies_in(rule.anchor, project):
        yield rule._replace(anchor=here + rule.anchor[len(project.rstrip("/")) :])
        return
    for spec in _inside(rule, project):
        yield rule._replace(anchor=here, spec=spec)
    if not any(spec == _ALL or _is_anchored(rule.spec) for spec in _inside(rule, here)):
        yield rule


def _inside(rule: Rule, folder: str) -> Iterator[str]:
    """Yield a rule for a folder's parents, or any folder, as it applies inside the folder."""
    anchor = (rule.anchor or "/").rstrip("/")
    if not lies_in(folder, anchor or "/"):
        return
    way = [name for name in folder[len(anchor) :].split("/") if name]
    if not _is_anchored(rule.spec):
        name = rule.spec.rstrip("/")
        is_met = name.strip("*") and any(segment_meets(name, one) for one in way)
        yield _ALL if is_met else rule.spec
        return
    named = (name for name in rule.spec.split("/") if name)
    names = [name if name.strip("*") or name == "*" else _FOLDERS for name in named]
    yield from dict.fromkeys(_rest(names, way, only_below=rule.spec.endswith("/")))


def _rest(names: Sequence[str], way: Sequence[str], *, only_below: bool) -> Iterator[str]:
    """Yield the rests of a pattern after it has matched all of `way`, one for each way to match."""
    met = {0}
    for name in way:
        met = _with_skipped(names, met)
        if len(names) in met:
            yield _ALL
            return
        met = {
            at if names[at] == _FOLDERS else at + 1
            for at in met
            if names[at] == _FOLDERS or segment_meets(names[at], name)
        }
    for at in sorted(met):
        rest = names[at:]
        yield "/" + "/".join(rest) + "/" * only_below if rest else _ALL


def _with_skipped(names: Sequence[str], met: set[int]) -> set[int]:
    """Add the positions after each `**` that stands for no folder at all."""
    found = set(met)
    for at, name in enumerate(names):
        if at in found and name == _FOLDERS:
            found.add(at + 1)
    return found


def _is_anchored(spec: str) -> bool:
    """Return whether a pattern has a fixed start; otherwise it is a name, at any depth."""
    return "/" in spec.rstrip("/")


SLOTS_MAX = 4_096
ENTERED = 0o711
"""Mode of folders on the way to a project: a root worker runs programs as another user."""
_EMPTY = encode_tree(())
_EMPTY_ROOT = digest_of(_EMPTY)
_NOTHING = {"shell": ":"}
"""The program of a trial run in languages in which `0` alone is not a program."""
_WARM_RUNS = 2
"""Runs of a language ahead: after the second run the pool keeps a cell for it."""


@dataclass(frozen=True, slots=True)
class WorkerTerms:
    """Settings that a worker is opened with."""

    folder: Path  # the worker's own; programs must be able to enter it
    keys: Path  # the file of the fronts that are served, read for each order
    rules: Path | None = None  # the operator's file, read for each order
    name: str = field(default_factory=socket.gethostname)
    at_once: int = field(default_factory=lambda: os.cpu_count() or 1)
    home: Path = field(default_factory=Path.home)
    settings: Settings = field(default_factory=Settings)
    warm: tuple[str, ...] = ()  # languages that are prepared ahead

    @property
    def state_dir(self) -> Path:
        """Return the folder in which the slots' engines keep their state."""
        return self.folder / "state"


@dataclass(slots=True, eq=False)
class Slot:
    """A slot of a worker."""

    project: Path
    root: Digest  # the tree that is laid out in `project`
    engine: LocalEngine
    used_at: float = 0.0
    is_broken: bool = False
    is_done: trio.Event = field(default_factory=trio.Event)

    def bring_to(self, root: Digest, cache: BlobCache) -> None:
        """Lay out another tree in the project's folder. If this fails, the slot is broken.

        Raises:
            BlobError, TreeError, OSError: see `layout.renew`.
        """
        if root == self.root:
            return
        try:
            renew(self.project, self.root, root, cache)
        except BaseException:
            self.is_broken = True
            raise
        self.root = root


@contextlib.contextmanager
def claim_place(slots: Path) -> Iterator[Path]:
    """Claim a folder below `slots` for the block: emptied, and used by no other process.

    Raises:
        OSError: the folder cannot be written, or all are taken.
    """
    make_own(slots, ENTERED)
    with contextlib.ExitStack() as stack:
        for number in range(SLOTS_MAX):
            try:
                stack.enter_context(hold_lock(slots / f"{number}.lock", wait_s=0))
            except BlockingIOError:
                continue
            yield slots / str(number)
            return
    raise OSError(f"all {SLOTS_MAX:,} slots in {slots} are taken")


@contextlib.asynccontextmanager
async def open_slot(place: Path, terms: WorkerTerms, cache: BlobCache) -> AsyncIterator[Slot]:
    """Open a slot with an empty project, at a claimed place; remove it when the block ends.

    Raises:
        SandboxUnavailableError: nothing here isolates programs; the error has a remedy.
        OSError: the folder can't be written.
    """
    project = place / "project"
    await trio.to_thread.run_sync(_empty, place, project, cache)
    settings = replace(terms.settings, storage=terms.state_dir)
    try:
        async with open_engine(
            project=project,
            state_dir=terms.state_dir,
            rules=Rules,
            home=terms.home,
            settings=settings,
        ) as engine:
            slot = Slot(project, _EMPTY_ROOT, engine)
            await _warm(engine, terms.warm)
            yield slot
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(remove, place)


def _empty(place: Path, project: Path, cache: BlobCache) -> None:
    remove(place)
    place.mkdir(mode=ENTERED)
    os.chmod(place, ENTERED)
    project.mkdir()
    cache.add(_EMPTY_ROOT, [_EMPTY])


async def _warm(engine: LocalEngine, languages: tuple[str, ...]) -> None:
    """Run an empty program, so that the first order of a language finds it proven and started."""
    judged = engine.under(Rules(), ANALYZE)
    for name in languages:
        report = await engine.language(name)
        for _ in range(_WARM_RUNS if report.runnable else 0):
            await judged.run(Request(name, code=_NOTHING.get(name, "0")))
