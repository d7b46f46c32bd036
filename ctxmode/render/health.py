"""Health of the program as lines: what works, disk space, prewarmed programs."""

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
    """Write one line per fact, for clients that cannot show a table."""
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
        f"critical parts that do not work: {', '.join(diagnosis.critical) or 'none'}",
    ]
    return "\n".join(lines)


def packages_lines(clients: Sequence[ClientsHealth]) -> list[str]:
    """Write which clients fetch packages, and why some packages cannot be fetched."""
    working = [f"{it.ecosystem} by {by_clients(it)}" for it in clients if it.ok]
    missing = [f"no packages of {it.ecosystem}: {_with_hint(it)}" for it in clients if not it.ok]
    return [*([f"packages: {', '.join(working)}"] if working else []), *missing]


def by_clients(health: ClientsHealth) -> str:
    """Name the clients that fetch an ecosystem's packages."""
    return " and ".join(health.clients) or "its toolchain"


def _with_hint(health: ClientsHealth) -> str:
    return f"{health.reason}. To fix it: {health.remedy}" if health.remedy else health.reason


def facts_lines(facts: Mapping[str, Any] | None) -> list[str]:
    """Write the number of facts, or the problem with their files."""
    if facts is None:
        return []
    if facts["reason"]:
        return [f"facts: problem found: {facts['reason']}"]
    return [f"facts: {facts['facts']} of the project, {facts['users_facts']} of the user"]


def cluster_lines(health: FleetHealth | None) -> list[str]:
    """Write the state of the machines that runs are sent to; no line if there are none."""
    if health is None:
        return []
    if health.runs:
        took = f"{health.run_s:.1f} s" if health.run_s is not None else "?"
        line = f"Fleet: {health.url}: {health.worker}, tier {health.tier}, a run took {took}"
        return [line, f"  slow: {health.advice}"] if health.advice else [line]
    works = "answers and stores blobs" if health.keeps_blobs else "answers"
    state = works if health.answers else "does not answer"
    lines = [f"Fleet: {health.url} {state}, and cannot run programs: {health.reason}"]
    return [*lines, f"  {health.remedy}"] if health.remedy else lines


def pages_lines(pages: Mapping[str, Any] | None) -> list[str]:
    """Write whether pages can be used and are set up."""
    if pages is None:
        return []
    if pages["reason"]:
        return [f"pages: not available: {pages['reason']}"]
    if not pages["is_begun"]:
        return [f"pages: {pages['git']}, not set up (context-mode pages init)"]
    captured = "captured" if pages["captures"] else "not captured"
    return [f"pages: {pages['git']}, set up, turns are {captured}"]


def brief_reason(report: LanguageReport) -> str:
    """Return the first line of the reason why a language does not run, without a stack trace."""
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
    """Write the disk space in use and what was deleted for quotas."""
    if holdings is None:
        return []
    return [
        f"on disk: {size(holdings.used_bytes)} of {size(holdings.quota_bytes)} for this project, "
        f"{size(holdings.all_used_bytes)} of {size(holdings.all_quota_bytes)} for all projects "
        f"({holdings.projects})",
        *(_describe_eviction(one) for one in holdings.dropped),
        *_describe_skipped(holdings.of_all),
    ]


def _describe_eviction(one: eviction.Eviction) -> str:
    when = datetime.fromtimestamp(one.begun_at).strftime("%Y-%m-%d %H:%M")
    quota = "the project's quota" if one.quota == "project" else "the quota of all projects"
    running = "" if one.ended_at is not None else ", still running"
    return (
        f"deleted for {quota}, {when}: {one.sources} of the oldest sources, "
        f"{size(one.text_bytes)} of text{running}"
    )


def _describe_skipped(report: all_stores.QuotaReport | None) -> list[str]:
    if report is None:
        return []
    return [
        f"skipped for the quota of all projects: {name}: {reason}"
        for name, reason in report.passed_over.items()
    ]


def describe_prewarmed(kept: Iterable[PrewarmReport]) -> list[str]:
    """Write what is kept ready for runs, one line for each kind and server."""
    lines = []
    for one in kept:
        trouble = f"; the last start failed: {one.trouble}" if one.trouble else ""
        lines.append(
            f"kept ready: {one.idle} for {one.label}, {size(one.bytes)}, used by {one.hits} of "
            f"{one.hits + one.misses} runs (server {one.instance}){trouble}"
        )
    return lines
