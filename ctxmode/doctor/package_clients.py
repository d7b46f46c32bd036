"""Whether what locks and fetches each ecosystem's packages is here. Nothing is started for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from executor import LanguageReport
from executor.engine.tiers import PACKAGED, TIERS
from runtimes.packages.model import Ecosystem
from runtimes.packages.registry import ECOSYSTEMS
from runtimes.packages.tools import Tool, find_tool


@dataclass(frozen=True, slots=True)
class ClientsHealth:
    """The clients of one ecosystem: where each lies, or None; without any its toolchain does it.

    `reason` says why its packages cannot be fetched, `remedy` what to install.
    """

    ecosystem: str
    title: str
    clients: Mapping[str, str | None]
    reason: str = ""
    remedy: str = ""

    @property
    def ok(self) -> bool:
        return not self.reason


def check_clients(languages: Mapping[str, LanguageReport], tier: str) -> tuple[ClientsHealth, ...]:
    """Look for the clients of every ecosystem whose languages were proven, on PATH and beside them.

    Sandboxes of `tier` have to be able to show packages. In an image the clients that come with a
    toolchain are not looked for; those beside one are in none.
    """
    known = (row for row in ECOSYSTEMS if any(name in languages for name in row.languages))
    return tuple(_check_row(row, languages, tier) for row in known)


def _check_row(row: Ecosystem, languages: Mapping[str, LanguageReport], tier: str) -> ClientsHealth:
    reports = [languages[name] for name in row.languages if name in languages]
    running = [report for report in reports if report.runnable and report.path]
    in_image = tier in TIERS and TIERS[tier].back_end == "container"
    found = dict(_find_clients(row, running, in_image=in_image))
    clients = {tool.name: path for tool, path in found.items()}
    if not running:
        names = " and ".join(report.name for report in reports)
        reason = f"{names} {'do' if len(reports) > 1 else 'does'} not run here"
        return ClientsHealth(row.name, row.title, clients, reason)
    for tool, path in found.items():
        if path is None and in_image and tool in row.beside:
            reason = f"{tool.name} is not in its image"
            return ClientsHealth(row.name, row.title, clients, reason)
        if path is None:
            return ClientsHealth(
                row.name, row.title, clients, f"{tool.name} is not here", tool.hint
            )
    if tier not in TIERS or not TIERS[tier].shows_packages:
        reason = f"packages need {PACKAGED}"
        return ClientsHealth(row.name, row.title, clients, reason)
    return ClientsHealth(row.name, row.title, clients)


def _find_clients(
    row: Ecosystem, running: list[LanguageReport], *, in_image: bool
) -> Iterator[tuple[Tool, str | None]]:
    for tool in row.tools:
        if in_image and not tool.portable:
            continue
        found = find_tool(tool)
        yield tool, found[0] if found else None
    folders = [os.path.dirname(os.path.realpath(report.path or "")) for report in running]
    for tool in row.beside:
        is_there = folders and not in_image
        yield tool, shutil.which(tool.name, path=os.pathsep.join(folders)) if is_there else None
