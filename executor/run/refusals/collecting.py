"""The refusals of one run: the exact ones first, each target once, bounded."""

from __future__ import annotations

import functools
import os
import signal
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import trio

from executor.engine.box import ETC_ENTRIES, SYSTEM_FOLDERS, Consumption, Exit, Layout
from executor.model import Refusal, RequestError, Result, Status
from executor.project.view.search import ProjectSearch
from executor.request import Profile, ProjectAccess
from executor.run.refusals.error_refusals import Shown, find_errors, of_errors
from executor.run.refusals.notices import (
    EXACT,
    SOURCES,
    FoundRefusal,
    HostLooks,
    NoLooks,
    of_notices,
)
from executor.spawner.messages import Notice

CAN_BE_GRANTED = ("the profile does not name it", "is not allowed for it")
UNKNOWN_HOST = "?"
STATUS_LIMITS = {
    Status.TIMED_OUT: "wall_s",
    Status.MEMORY_LIMIT: "memory_bytes",
    Status.CPU_LIMIT: "cpu_s",
    Status.PROCESS_LIMIT: "processes",
    Status.OUTPUT_LIMIT: "output_bytes",
    Status.DISK_LIMIT: "scratch_bytes",
}
# A shell's message about a child that was ended by a signal.
SHELL_SIGNAL_BASE = 128
SIZE_SIGNALS = frozenset({signal.SIGXFSZ, SHELL_SIGNAL_BASE + signal.SIGXFSZ})

REFUSALS_MAX = 50  # in a result; the others are counted
TARGET_CHARACTERS_MAX = 300
HOST_S_MAX = 1.0  # for looks at this machine's files
COMPILED_APART = "nothing grants it while a program is compiled"
COMMIT = "commit"
ENDED_WELL = frozenset((Status.OK, Status.CANCELLED))
LOOPBACK = ("tcp 127.", "tcp [::1]:", "tcp 0.0.0.0:", "tcp [::]:")
VISIBLE = (*SYSTEM_FOLDERS, *(f"/etc/{name}" for name in ETC_ENTRIES))


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The properties of a run's box, for judging its refusals."""

    profile: Profile
    layout: Layout
    cwd: str
    search: ProjectSearch
    copies_on_write: bool
    binds: tuple[str, ...] = ()

    @property
    def project(self) -> str:
        """Return the project's path as the program sees it."""
        return self.layout.inside(self.layout.project)

    @property
    def is_project_writable(self) -> bool:
        access = self.profile.project
        if access is ProjectAccess.COPY_ON_WRITE:
            return self.copies_on_write
        return access is not ProjectAccess.READ_ONLY


RunEnd = tuple[Result, Exit | None, Consumption | None]
"""A run's result, and the reports of its supervisor and its control group, if they lived."""


async def with_refusals(run: RunEnd, facts: RunFacts) -> Result:
    """Return the result with its refusals. Most runs have none, and wait for nothing."""
    result, end, _ = run
    if not may_be_refused(run):
        return result
    found: list[FoundRefusal] = []
    with trio.move_on_after(HOST_S_MAX) as deadline:
        found = await trio.to_thread.run_sync(
            collect, run, facts, HostLooks(), abandon_on_cancel=True
        )
    if deadline.cancelled_caught:
        found = collect(run, facts, NoLooks())
    omitted = end.refused_omitted if end else 0
    return bounded(result, (refusal for _, refusal in found), omitted)


def bounded(result: Result, found: Iterable[Refusal], omitted: int) -> Result:
    """Return the result with up to the limit of refusals, each target once."""
    merged: dict[tuple[str, str, str], Refusal] = {}
    for one in found:
        short = replace(one, target=_cut(one.target), by=_cut(one.by), remedy=_cut(one.remedy))
        key = short.kind, short.target, short.by
        count = short.count + (merged[key].count if key in merged else 0)
        merged[key] = replace(short, count=count)
    listed = sorted(merged.values(), key=lambda one: one.certainty != EXACT)
    omitted += len(listed[REFUSALS_MAX:])
    return replace(result, refusals=tuple(listed[:REFUSALS_MAX]), refusals_omitted=omitted)


def with_commit_refusals(result: Result) -> Result:
    """Add to the result of a run elsewhere those of its changes that were refused here."""
    others = (one for one in result.refusals if one.kind != COMMIT)
    found = (refusal for source, refusal in of_commit(result) if not source.if_failed)
    return bounded(result, (*found, *others), result.refusals_omitted)


def of_compiling(result: Result) -> tuple[Refusal, ...]:
    """Return the refusals of a separate compilation: no profile applies to that cell."""
    return tuple(
        replace(one, remedy=COMPILED_APART) if one.kind in ("network", "socket") else one
        for one in result.refusals
    )


def with_earlier(result: Result, compiling: Result) -> Result:
    """Add to the result the refusals of the separate compilation before it."""
    if not compiling.refusals:
        return result
    omitted = compiling.refusals_omitted + result.refusals_omitted
    return bounded(result, (*of_compiling(compiling), *result.refusals), omitted)


def collect(run: RunEnd, facts: RunFacts, host: HostLooks) -> list[FoundRefusal]:
    """Return what all sources report, the exact refusals first."""
    result, end, consumed = run
    exact = [
        *of_connections(result),
        *of_commit(result),
        *of_limits(result, consumed),
        *_of_notices(result, end, facts, host),
    ]
    if result.status in ENDED_WELL:
        return [(source, refusal) for source, refusal in exact if not source.if_failed]
    text = f"{result.stderr.head}\n{result.stderr.tail}"
    errors = {0, *(error for error, _, _ in find_errors(text))}
    known = [(source, refusal) for source, refusal in exact if source.if_error in errors]
    if isinstance(host, NoLooks):
        return known
    return [*known, *_of_errors(text, known, _shown(result, facts, host))]


def may_be_refused(run: RunEnd) -> bool:
    """Return whether anything about a run may have been refused."""
    result, end, consumed = run
    met = consumed is not None and (consumed.oom_kills or consumed.fork_refusals)
    seen = end is not None and any(map(_leads_out, end.refused))
    told = result.connections or result.not_committed
    return bool(result.status not in ENDED_WELL or seen or met or told)


def _of_notices(
    result: Result, end: Exit | None, facts: RunFacts, host: HostLooks
) -> Iterator[FoundRefusal]:
    if end is None or not end.refused:
        return iter(())
    from executor.engine.seccomp import name_denied_calls  # noqa: PLC0415 - loads a library

    homes = (facts.project, facts.layout.home, os.path.expanduser("~"))
    # A program's connections to itself are many; they matter if the program failed.
    seen = end.refused if result.status not in ENDED_WELL else filter(_leads_out, end.refused)
    return of_notices(seen, facts.profile.network, name_denied_calls(), homes, host)


def _leads_out(notice: Notice) -> bool:
    return not notice[1].startswith(LOOPBACK)


def _of_errors(text: str, known: list[FoundRefusal], shown: Shown) -> Iterator[FoundRefusal]:
    """Return refusals from error texts, except those known exactly."""
    kinds = {refusal.kind for _, refusal in known}
    targets = {refusal.target for _, refusal in known}
    better = {"network": "network", "privilege": "call", "call": "call"}
    for one in of_errors(text, shown):
        kind, target = one[1].kind, one[1].target
        if better.get(kind) not in kinds and not (kind == "limit" and target in targets):
            yield one


def _shown(result: Result, facts: RunFacts, host: HostLooks) -> Shown:
    cgroup = result.isolation.layers.get("cgroup")
    return Shown(
        project=facts.project,
        cwd=facts.cwd,
        home=facts.layout.home,
        scratch=facts.layout.scratch,
        job=facts.layout.job,
        is_writable=facts.is_project_writable,
        visible=(*VISIBLE, *facts.binds, *facts.profile.read),
        limits_memory=not (cgroup and cgroup.active),
        host_home=os.path.expanduser("~"),
        host_has=host.has_path,
        find_secrets=functools.cache(lambda: _find_secrets(facts.search)),
        denies=lambda path: _is_secret(facts.search, path),
    )


def _find_secrets(search: ProjectSearch) -> frozenset[str]:
    try:
        return frozenset(search.look().secrets)
    except RequestError:  # it has grown too large to be searched, which the next run reports
        return frozenset()


def _is_secret(search: ProjectSearch, path: str) -> bool:
    from base.secrets import is_secret_path  # noqa: PLC0415 - only errors ask

    return search.denies(path) or is_secret_path(path)


def _cut(text: str) -> str:
    return text if len(text) <= TARGET_CHARACTERS_MAX else f"{text[: TARGET_CHARACTERS_MAX - 1]}…"


def of_connections(result: Result) -> Iterator[FoundRefusal]:
    """Return the refusals of the proxy, each host and port once."""
    refused = Counter(
        (c.host, c.port, c.reason)
        for c in result.connections
        if not c.allowed and c.host != UNKNOWN_HOST
    )
    for (host, port, reason), count in refused.items():
        source = SOURCES["proxy" if reason.endswith(CAN_BE_GRANTED) else "proxied"]
        target = host if port in (80, 443) else f"{host}:{port}"
        yield source.found(target, count, reason)


def of_commit(result: Result) -> Iterator[FoundRefusal]:
    """Return the changes that did not reach the project.

    Conflicts are excluded, since there the host was first, and so are entries below a deleted
    folder that the run did not see.
    """
    for left in result.not_committed:
        if left.kind in SOURCES:
            yield SOURCES[left.kind].found(left.path, why=left.reason)


def of_limits(result: Result, consumed: Consumption | None) -> Iterator[FoundRefusal]:
    """Return the limits that the run, or one of its processes, reached."""
    counts: dict[str, int] = {}
    if result.status in STATUS_LIMITS:
        counts[STATUS_LIMITS[result.status]] = 1
    if consumed and consumed.oom_kills:
        counts["memory_bytes"] = consumed.oom_kills
    if consumed and consumed.fork_refusals:
        counts["processes"] = consumed.fork_refusals
    for name, count in counts.items():
        yield SOURCES["full" if name == "scratch_bytes" else "limit"].found(name, count)
    if {result.signal, result.exit_code} & SIZE_SIGNALS:
        yield SOURCES["met limit"].found("file_bytes")
