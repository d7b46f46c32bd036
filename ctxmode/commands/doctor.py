"""The verb `doctor`: show what works here, and how to fix what does not."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.text import Text

from base.secrets import redact
from base.wording import command_of
from ctxmode import __version__, exit_codes, launch
from ctxmode.app import App
from ctxmode.config.locations import load_config
from ctxmode.doctor.diagnosis import ClientsHealth, Diagnosis, diagnose_closed
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.launch import print_json, with_app
from ctxmode.render import terminal
from ctxmode.render.health import (
    brief_reason,
    by_clients,
    cluster_lines,
    describe_instances,
    describe_prewarmed,
    facts_lines,
    holdings_lines,
    pages_lines,
)
from ctxmode.render.highlight import harmless, size
from ctxmode.render.terminal_output import waiting
from executor import LanguageReport
from runtimes import install_script as script_of_languages


def run_verb(args: argparse.Namespace) -> int:
    if args.install_script:
        sys.stdout.write(script_of_languages())
        return exit_codes.OK
    if args.report and args.json:
        raise UsageError("--report and --json exclude each other", "Remove one of them.")
    diagnosis = _diagnosis(args)
    if args.fix_hints:
        _show_hints(diagnosis, as_json=args.json)
    elif args.report:
        sys.stdout.write(_report(args, diagnosis))
    elif args.json:
        print_json(diagnosis.to_json())
    else:
        show_diagnosis(diagnosis, verbose=args.verbose)
    return exit_codes.ERROR if diagnosis.critical else exit_codes.OK


def _show_hints(diagnosis: Diagnosis, *, as_json: bool) -> None:
    found = remedies(diagnosis)
    if as_json:
        print_json({"hints": found})
    else:
        sys.stdout.write(install_script(found))


def _report(args: argparse.Namespace, diagnosis: Diagnosis) -> str:
    from ctxmode.commands.config import describe_config  # noqa: PLC0415

    config = load_config(args.project)
    try:
        configured = describe_config(config)
    except ContextModeError as error:  # the same error prevents opening the project
        places = {"project": str(config.project), "storage": str(config.data_dir)}
        configured = {**places, "settings": [], "profiles": [], "warnings": [str(error)]}
    private = private_words(configured, str(config.home))
    return report(diagnosis, configured, private)


def _diagnosis(args: argparse.Namespace) -> Diagnosis:
    try:
        with waiting("proving languages") as on_progress:
            diagnosed = with_app(
                args, partial(App.doctor, refresh=args.refresh, on_progress=on_progress)
            )
        return replace(diagnosed, notices=(*diagnosed.notices, *_list_waiting_hooks(args)))
    except ContextModeError as error:
        return launch.run_in_trio(partial(diagnose_closed, load_config(args.project), error))


def _list_waiting_hooks(args: argparse.Namespace) -> list[str]:
    """List hooks that the user must review: Codex skips them until then."""
    from ctxmode.hosts.codex import review  # noqa: PLC0415 - with the hosts' table
    from ctxmode.hosts.setup.hosts import SCOPES  # noqa: PLC0415
    from ctxmode.hosts.setup.target import Target  # noqa: PLC0415

    config = load_config(args.project)
    targets = (Target(scope, config.home, config.project, (), os.environ) for scope in SCOPES)
    return list(filter(None, map(review.describe_waiting, targets)))


# Benefit of each isolation layer or part, once it works.
GIVES = {
    "namespaces": "tier A: runs see only what they may use; networks by allowlist",
    "seccomp": "required isolation: no program runs without it",
    "landlock": "a second barrier around files, and tier B",
    "cgroup": "limits on memory and processes, enforced by the kernel for all processes together",
    "copy_on_write": "a project that looks writable but is not changed",
    "id_mapping": "no program runs as root, even if files of the project belong to root",
    "storage": "outputs and sources are stored",
    "full text": "stored texts can be searched",
    "opening": "the project opens",
    "old images": "free disk space",
    "facts": "recalled facts are those that were written",
    "pages": "knowledge is stored as versioned pages",
    "containers": "programs run in containers (tier C)",
}


def remedies(diagnosis: Diagnosis) -> tuple[Mapping[str, str], ...]:
    """Return the fix for each part that does not work; `command` is empty if there is none."""
    return tuple(
        {"part": part, "gives": gives, "command": command_of(text), "note": text}
        for part, gives, text in _find_lacking(diagnosis)
    )


def install_script(found: Sequence[Mapping[str, str]]) -> str:
    """Return a shell script with the commands; everything else is in comments."""
    if not found:
        return "# Nothing to fix: everything works.\n"
    return "\n".join(
        f"# {it['part']}: {it['gives']}\n"
        + (f"# {it['note']}\n" if it["note"] != it["command"] else "")
        + (f"{it['command']}\n" if it["command"] else "")
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
    for name, found in (("facts", diagnosis.facts), ("pages", diagnosis.pages)):
        if found is not None and found["remedy"]:
            yield name, GIVES[name], found["remedy"]
    for remedy in diagnosis.container_engine.remedies:
        part = "old images" if " images remove" in remedy else "containers"
        yield part, GIVES[part], remedy


GOOD, BAD = ("yes", "green"), ("no", "red")


def show_diagnosis(diagnosis: Diagnosis, *, verbose: bool = False) -> None:
    """Print a diagnosis. Without `verbose` each language takes one line, without stack traces."""
    console = terminal.console()
    console.print(Text(f"context-mode {__version__} in {diagnosis.project}", style="bold"))
    for title, columns, rows in (
        *_list_tables(diagnosis, verbose=verbose),
        *_list_stores(diagnosis),
    ):
        table = terminal.build_table(*columns, title=f"\n{title}")
        for name, is_good, *cells in rows:
            table.add_row(name, Text(*(GOOD if is_good else BAD)), *map(Text, cells))
        console.print(table)
    lines = (
        *cluster_lines(diagnosis.cluster),
        *facts_lines(diagnosis.facts),
        *pages_lines(diagnosis.pages),
        *holdings_lines(diagnosis.holdings),
        *describe_instances(diagnosis.instances),
        *describe_prewarmed(diagnosis.prewarmed),
    )
    for line in lines:
        console.print(Text(line))
    for notice in diagnosis.notices:
        console.print(Text(f"\nNotice: {harmless(notice)}", style="yellow"))
    for hint in _hints(diagnosis):
        console.print(Text(hint))
    verdict = "All critical parts work."
    if diagnosis.critical:
        verdict = f"Critical parts that do not work: {', '.join(diagnosis.critical)}."
    console.print(Text(verdict, style="red" if diagnosis.critical else "green"))


Table = tuple[str, tuple[str, ...], Iterable[tuple[str, bool, *tuple[str, ...]]]]
"""A title, the titles of columns, and rows: each with a name, whether it works, and other cells."""


def _list_tables(diagnosis: Diagnosis, *, verbose: bool) -> Iterator[Table]:
    languages, packages = diagnosis.languages, diagnosis.packages
    running = sum(it.runnable for it in languages.values())
    yield (
        f"Languages: {running} of {len(languages)} run",
        ("language", "runs", "version", "start", "toolchain or reason"),
        (
            (name, it.runnable, it.version or "", _start(it), _by(it, verbose=verbose))
            for name, it in languages.items()
        ),
    )
    working = sum(it.ok for it in packages)
    yield (
        f"Packages: {working} of {len(packages)} ecosystems",
        ("ecosystem", "works", "client or reason"),
        ((it.ecosystem, it.ok, _list_clients(it) if it.ok else it.reason) for it in packages),
    )
    yield (
        f"Isolation: tier {diagnosis.isolation.tier}",
        ("layer", "active", "method or reason"),
        (
            (name, it.active, it.detail if it.active else f"{it.detail} {it.reason}".strip())
            for name, it in diagnosis.isolation.layers.items()
        ),
    )


def _list_stores(diagnosis: Diagnosis) -> Iterator[Table]:
    columns = ("part", "works", "details or reason")
    parts = {"storage": diagnosis.storage, "full text": diagnosis.fts5}
    if not diagnosis.opening.ok:
        parts["opening"] = diagnosis.opening
    yield (
        "Knowledge base",
        columns,
        (
            (name, it.ok, it.detail if it.ok else f"{it.detail} {it.reason}".strip())
            for name, it in parts.items()
        ),
    )
    engine = diagnosis.container_engine
    images = (
        (
            f"image {it.group}",
            it.state.value.startswith("current"),
            f"{it.state.value}  {it.reference}  {size(it.size_bytes)}"
            if it.size_bytes
            else it.state.value,
        )
        for it in engine.images
    )
    yield ("Containers", columns, (("engine", engine.reachable, engine.summary), *images))


def _start(report: LanguageReport) -> str:
    return "" if report.start_ms is None else f"{report.start_ms:.0f} ms"


def _list_clients(health: ClientsHealth) -> str:
    return "  ".join(path for path in health.clients.values() if path) or by_clients(health)


def _by(report: LanguageReport, *, verbose: bool) -> str:
    if report.runnable:
        return f"{report.toolchain}  {report.path}"
    return report.reason if verbose else brief_reason(report)


def _hints(diagnosis: Diagnosis) -> list[str]:
    """Write one line for each fix."""
    hints = [f"  {remedy['part']}: {remedy['note']}" for remedy in remedies(diagnosis)]
    return ["", "Fixes:", *hints, ""] if hints else [""]


LIBRARIES = ("trio", "mcp", "pyseccomp", "tree-sitter", "tree-sitter-language-pack", "docker")
_HOMES = re.compile(r"/(?:home|Users)/[^/\s|`:]+")
_ADDRESS = re.compile(r"\b(tcp|ssh|https?)://[^\s|]+")


def report(diagnosis: Diagnosis, configured: Mapping[str, Any], private: Mapping[str, str]) -> str:
    """Write the whole report.

    `configured` is the data of `doctor config show --json`; `private` maps private texts to their
    replacements.
    """
    lines = [
        f"# context-mode {__version__}",
        "",
        *(f"- {line}" for line in _versions(diagnosis)),
        *_write_tables(diagnosis),
        *_settings(configured),
        *_notices(diagnosis),
    ]
    return anonymous("\n".join(lines) + "\n", private)


def private_words(configured: Mapping[str, Any], home: str) -> dict[str, str]:
    """Return texts that a report must not contain, longest first, with their replacements."""
    words = {
        configured["storage"]: "STORAGE",
        configured["project"]: "PROJECT",
        home: "~",
        platform.node(): "MACHINE",
    }
    with contextlib.suppress(KeyError, OSError):  # a user ID without a name
        words[getpass.getuser()] = "USER"
    known = {word: stands for word, stands in words.items() if word not in ("", "/", "root")}
    return dict(sorted(known.items(), key=lambda item: -len(item[0])))


def anonymous(text: str, private: Mapping[str, str]) -> str:
    """Remove secrets and the names of user and machine from a text."""
    for word, stands in private.items():
        text = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", stands, text)
    text = _ADDRESS.sub(r"\1://…", _HOMES.sub("~", text))
    return redact(text)[0]


def _versions(diagnosis: Diagnosis) -> Iterator[str]:
    libc = " ".join(platform.libc_ver())
    yield f"{_distribution()}, Linux {platform.release()}, {platform.machine()}, {libc}"
    yield f"Python {platform.python_version()}, {diagnosis.fts5.detail}"
    yield ", ".join(f"{name} {_find_version(name)}" for name in LIBRARIES)
    yield f"container engine: {diagnosis.container_engine.summary or 'none'}"
    states = Counter(
        (image.state.value, image.group) for image in diagnosis.container_engine.images
    )
    images = (f"{group} {state}" + f" ({n})" * (n > 1) for (state, group), n in states.items())
    yield f"images: {', '.join(sorted(images)) or 'none'}"
    for name, part in (("storage", diagnosis.storage), ("opening", diagnosis.opening)):
        yield f"{name}: {'works' if part.ok else part.reason}"
    yield f"critical parts that do not work: {', '.join(diagnosis.critical) or 'none'}"


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return sys.platform


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _settings(configured: Mapping[str, Any]) -> Iterator[str]:
    own = [one for one in configured["settings"] if one["origin"] != "default"]
    yield from ("", f"## Settings: {len(own)} changed from the default", "")
    if own:
        rows = ((one["key"], str(one["value"]), one["origin"]) for one in own)
        yield from (*_table(("setting", "value", "from"), rows), "")
    yield f"profiles: {', '.join(configured['profiles'])}"
    yield from (f"warning: {warning}" for warning in configured["warnings"])


def _notices(diagnosis: Diagnosis) -> Iterator[str]:
    found = [*diagnosis.notices, *(f"{it['part']}: {it['note']}" for it in remedies(diagnosis))]
    if found:
        yield from ("", "## Notices and fixes", "")
        yield from (f"- {line}" for line in found)


def _write_tables(diagnosis: Diagnosis) -> Iterator[str]:
    for title, columns, rows in _list_tables(diagnosis, verbose=True):
        yield from ("", f"## {title}", "")
        yield from _table(columns, ((name, "yes" if ok else "no", *it) for name, ok, *it in rows))


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (titles, ["---"] * len(titles), *rows):
        yield "| " + " | ".join(_cell(cell) for cell in row) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
