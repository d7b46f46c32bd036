"""How the program fares here, as lines: what works, what the disk holds, what is kept ready."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ctxmode.render.highlight import size

if TYPE_CHECKING:
    from ctxmode.doctor.diagnosis import ClientsHealth, Diagnosis
    from ctxmode.operations.quotas import Holdings
    from executor import LanguageReport, Layer
    from executor.instance import PrewarmReport
    from fleet import FleetHealth
    from kb import all_stores, eviction


def doctor_text(diagnosis: Diagnosis) -> str:
    """Write one line a fact, in plain words, for whoever cannot show a table."""
    languages = map(_language_line, diagnosis.languages.values())
    layers = (_layer_line(name, it) for name, it in diagnosis.isolation.layers.items())
    parts = {"storage": diagnosis.storage, "fts5": diagnosis.fts5, "opening": diagnosis.opening}
    lines = [
        f"project: {diagnosis.project}",
        f"isolation: tier {diagnosis.isolation.tier}",
        *layers,
        *languages,
        *(
            f"{name}: {it.detail if it.ok else f'BROKEN: {it.reason}'}"
            for name, it in parts.items()
        ),
        f"container engine: {diagnosis.container_engine.summary}",
        *packages_lines(diagnosis.packages),
        *cluster_lines(diagnosis.cluster),
        *facts_lines(diagnosis.facts),
        *pages_lines(diagnosis.pages),
        *holdings_lines(diagnosis.holdings),
        *describe_prewarmed(diagnosis.prewarmed),
        *(f"notice: {notice}" for notice in diagnosis.notices),
        f"critical: {', '.join(diagnosis.critical) or 'nothing'}",
    ]
    return "\n".join(lines)


def packages_lines(clients: Sequence[ClientsHealth]) -> list[str]:
    """Say by what packages are fetched, and for which languages they cannot be and why."""
    working = [f"{it.ecosystem} by {by_clients(it)}" for it in clients if it.ok]
    lacking = [f"no packages of {it.ecosystem}: {_with_hint(it)}" for it in clients if not it.ok]
    return [*([f"packages: {', '.join(working)}"] if working else []), *lacking]


def by_clients(health: ClientsHealth) -> str:
    """Name what fetches an ecosystem's packages."""
    return " and ".join(health.clients) or "its toolchain"


def _with_hint(health: ClientsHealth) -> str:
    return f"{health.reason}. To mend it: {health.remedy}" if health.remedy else health.reason


def facts_lines(facts: Mapping[str, Any] | None) -> list[str]:
    """Say how many facts are remembered, and whether they are sound."""
    if facts is None:
        return []
    if facts["reason"]:
        return [f"facts: not sound: {facts['reason']}"]
    return [f"facts: {facts['facts']} of the project, {facts['users_facts']} of the user, sound"]


def cluster_lines(health: FleetHealth | None) -> list[str]:
    """Say how the machines fare that runs are sent to, in a line or two; none where there are
    none."""
    if health is None:
        return []
    if health.runs:
        took = f"{health.run_s:.1f} s" if health.run_s is not None else "?"
        line = f"Fleet: {health.url}: {health.worker}, tier {health.tier}, a run took {took}"
        return [line, f"  slow: {health.advice}"] if health.advice else [line]
    works = "answers and keeps blobs" if health.keeps_blobs else "answers"
    state = works if health.answers else "does not answer"
    lines = [f"Fleet: {health.url} {state}, and runs nothing: {health.reason}"]
    return [*lines, f"  {health.remedy}"] if health.remedy else lines


def pages_lines(pages: Mapping[str, Any] | None) -> list[str]:
    """Say whether pages can be kept, and are."""
    if pages is None:
        return []
    if pages["reason"]:
        return [f"pages: not to be had: {pages['reason']}"]
    if not pages["is_begun"]:
        return [f"pages: {pages['git']}, not begun here (context-mode pages init)"]
    captured = "captured" if pages["captures"] else "not captured"
    return [f"pages: {pages['git']}, begun, turns are {captured}"]


def brief_reason(report: LanguageReport) -> str:
    """Say why a language does not run, in one line: a toolchain's stack trace is cut off."""
    first, *more = report.reason.strip().splitlines() or [""]
    return f"{first.rstrip()} …" if more else first


def _language_line(report: LanguageReport) -> str:
    if not report.runnable:
        return f"{report.name}: not runnable: {brief_reason(report)}. {report.hint}"
    version = f" {report.version}" if report.version else ""
    return f"{report.name}: {report.toolchain}{version}, starts in {report.start_ms:.0f} ms"


def _layer_line(name: str, layer: Layer) -> str:
    return f"{name}: {layer.detail}" if layer.active else f"{name}: off: {layer.reason}"


def holdings_lines(holdings: Holdings | None) -> list[str]:
    """Say what is kept and what went, in a few short lines."""
    if holdings is None:
        return []
    return [
        f"on disk: {size(holdings.used_bytes)} of {size(holdings.quota_bytes)} for this project, "
        f"{size(holdings.all_used_bytes)} of {size(holdings.all_quota_bytes)} for all projects "
        f"({holdings.projects})",
        *(_describe_eviction(one) for one in holdings.dropped),
        *_describe_passed_over(holdings.of_all),
    ]


def _describe_eviction(one: eviction.Eviction) -> str:
    when = datetime.fromtimestamp(one.begun_at).strftime("%Y-%m-%d %H:%M")
    quota = "the project's quota" if one.quota == "project" else "the quota of all projects"
    going_on = "" if one.ended_at is not None else ", and this goes on"
    return (
        f"dropped for {quota}, {when}: {one.sources} of the oldest sources, "
        f"{size(one.text_bytes)} of text{going_on}"
    )


def _describe_passed_over(report: all_stores.QuotaReport | None) -> list[str]:
    if report is None:
        return []
    return [
        f"passed over for the quota of all projects: {name}: {reason}"
        for name, reason in report.passed_over.items()
    ]


def describe_prewarmed(kept: Iterable[PrewarmReport]) -> list[str]:
    """Say what is kept ready for runs, a line for each kind and server."""
    lines = []
    for one in kept:
        trouble = f"; the last could not be made: {one.trouble}" if one.trouble else ""
        lines.append(
            f"kept ready: {one.idle} for {one.label}, {size(one.bytes)}, used by {one.hits} of "
            f"{one.hits + one.misses} runs (server {one.instance}){trouble}"
        )
    return lines
