"""What `doctor` found, as tables for a person at a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from ctxmode import __version__
from ctxmode.doctor.container_engine import EngineHealth
from ctxmode.doctor.diagnosis import Diagnosis, PartHealth
from ctxmode.doctor.remedies import remedies
from ctxmode.render import terminal
from ctxmode.render.amounts import size
from ctxmode.render.health import (
    brief_reason,
    by_clients,
    cluster_lines,
    describe_prewarmed,
    facts_lines,
    holdings_lines,
    pages_lines,
)
from ctxmode.render.highlight import harmless
from executor import Isolation, LanguageReport

GOOD, BAD = ("yes", "green"), ("no", "red")


def show(diagnosis: Diagnosis, *, verbose: bool = False) -> None:
    """Print it. Without `verbose` a language takes one line, and no stack trace is shown."""
    console = terminal.console()
    console.print(Text(f"context-mode {__version__} in {diagnosis.project}", style="bold"))
    console.print(_languages(diagnosis, verbose=verbose))
    console.print(_packages(diagnosis))
    console.print(_isolation(diagnosis.isolation))
    console.print(_parts(diagnosis))
    console.print(_containers(diagnosis.container_engine))
    told = (
        *cluster_lines(diagnosis.cluster),
        *facts_lines(diagnosis.facts),
        *pages_lines(diagnosis.pages),
        *holdings_lines(diagnosis.holdings),
        *describe_prewarmed(diagnosis.prewarmed),
    )
    for line in told:
        console.print(Text(line))
    for notice in diagnosis.notices:
        console.print(Text(f"\nNotice: {harmless(notice)}", style="yellow"))
    for hint in _hints(diagnosis):
        console.print(Text(hint))
    verdict = "Everything critical works."
    if diagnosis.critical:
        verdict = f"Critical, and not working: {', '.join(diagnosis.critical)}."
    console.print(Text(verdict, style="red" if diagnosis.critical else "green"))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        # Paths and reasons are to be copied: they wrap, and are never cut.
        table.add_column(column, overflow="fold")
    return table


def _mark(good: bool) -> Text:
    return Text(*(GOOD if good else BAD))


def _languages(diagnosis: Diagnosis, *, verbose: bool) -> Table:
    running = sum(health.runnable for health in diagnosis.languages.values())
    title = f"\nLanguages: {running} of {len(diagnosis.languages)} run"
    table = _table(title, "language", "runs", "version", "start", "by, or why not")
    for name, health in diagnosis.languages.items():
        start = "" if health.start_ms is None else f"{health.start_ms:.0f} ms"
        by = Text(_by(health, verbose=verbose))
        table.add_row(name, _mark(health.runnable), health.version or "", Text(start), by)
    return table


def _packages(diagnosis: Diagnosis) -> Table:
    working = sum(health.ok for health in diagnosis.packages)
    title = f"\nPackages: {working} of {len(diagnosis.packages)} ecosystems"
    table = _table(title, "ecosystem", "works", "by, or why not")
    for health in diagnosis.packages:
        paths = "  ".join(path for path in health.clients.values() if path)
        by = paths or by_clients(health)
        table.add_row(health.ecosystem, _mark(health.ok), Text(by if health.ok else health.reason))
    return table


def _by(report: LanguageReport, *, verbose: bool) -> str:
    if report.runnable:
        return f"{report.toolchain}  {report.path}"
    return report.reason if verbose else brief_reason(report)


def _isolation(isolation: Isolation) -> Table:
    title = f"\nIsolation: tier {isolation.tier}"
    table = _table(title, "layer", "in force", "how, or why not")
    for name, layer in isolation.layers.items():
        words = layer.detail if layer.active else f"{layer.detail} {layer.reason}".strip()
        table.add_row(name, _mark(layer.active), Text(words))
    return table


def _parts(diagnosis: Diagnosis) -> Table:
    table = _table("\nKnowledge base", "part", "works", "what, or why not")
    parts = {"storage": diagnosis.storage, "full text": diagnosis.fts5}
    if not diagnosis.opening.ok:
        parts["opening"] = diagnosis.opening
    for name, part in parts.items():
        table.add_row(name, _mark(part.ok), Text(_part_words(part)))
    return table


def _containers(engine: EngineHealth) -> Table:
    table = _table("\nContainers", "part", "works", "what, or why not")
    table.add_row("engine", _mark(engine.reachable), Text(engine.summary))
    for image in engine.images:
        words = image.state.value
        if image.size_bytes:
            words += f"  {image.reference}  {size(image.size_bytes)}"
        table.add_row(f"image {image.group}", _mark(words.startswith("current")), Text(words))
    return table


def _part_words(part: PartHealth) -> str:
    return part.detail if part.ok else f"{part.detail} {part.reason}".strip()


def _hints(diagnosis: Diagnosis) -> list[str]:
    """What would mend each thing, one line each."""
    hints = [f"  {remedy.part}: {remedy.note}" for remedy in remedies(diagnosis)]
    return ["", "What would help:", *hints, ""] if hints else [""]
