"""What would mend each thing that does not work here: as commands to paste, and what they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from base.remedy import command_of
from ctxmode.doctor.diagnosis import Diagnosis

# What each layer of isolation, or part, gives once it works.
GIVES = {
    "namespaces": "tier A: all that a run may not use is absent from it; networks by allowlist",
    "seccomp": "isolation at all: no program runs without it",
    "landlock": "a second wall around files, and tier B",
    "cgroup": "limits of memory and processes that the kernel holds over all processes together",
    "copy_on_write": "a project that appears writable while nothing persists",
    "id_mapping": "no program has root's own number, even if a file of the project is root's",
    "storage": "outputs and sources are kept",
    "full text": "what is kept can be searched",
    "opening": "the project opens",
    "old images": "space on the disk",
    "facts": "what is remembered is what was written",
    "pages": "knowledge is kept as versioned pages",
    "containers": "programs run in containers (tier C)",
}


@dataclass(frozen=True, slots=True)
class PartRemedy:
    """How one part is mended. `command` is empty where no command does it."""

    part: str
    gives: str
    command: str
    note: str


def remedies(diagnosis: Diagnosis) -> tuple[PartRemedy, ...]:
    """One for each thing that does not work and can be mended."""
    return tuple(
        PartRemedy(part, gives, command_of(text), text)
        for part, gives, text in _find_lacking(diagnosis)
    )


def script(found: tuple[PartRemedy, ...]) -> str:
    """A text for a shell: the commands, all else in comments."""
    if not found:
        return "# Nothing to mend: all that is here works.\n"
    return "\n".join(
        f"# {it.part}: {it.gives}\n"
        + (f"# {it.note}\n" if it.note != it.command else "")
        + (f"{it.command}\n" if it.command else "")
        for it in found
    )


def _find_lacking(diagnosis: Diagnosis) -> Iterator[tuple[str, str, str]]:
    for name, report in diagnosis.languages.items():
        if not report.runnable and report.hint:
            yield name, f"programs in {name} run", report.hint
    for clients in diagnosis.packages:
        if clients.remedy:
            gives = f"programs import packages of {clients.title}"
            yield f"packages of {clients.ecosystem}", gives, clients.remedy
    for name, layer in diagnosis.isolation.layers.items():
        if not layer.active and layer.remedy:
            yield name, GIVES.get(name, f"the layer {name}"), layer.remedy
    parts = {
        "storage": diagnosis.storage,
        "full text": diagnosis.fts5,
        "opening": diagnosis.opening,
    }
    for name, health in parts.items():
        if not health.ok and health.remedy:
            yield name, GIVES[name], health.remedy
    if diagnosis.facts is not None and diagnosis.facts.remedy:
        yield "facts", GIVES["facts"], diagnosis.facts.remedy
    if diagnosis.pages is not None and diagnosis.pages.remedy:
        yield "pages", GIVES["pages"], diagnosis.pages.remedy
    for remedy in diagnosis.container_engine.remedies:
        part = "old images" if " images remove" in remedy else "containers"
        yield part, GIVES[part], remedy
