"""What `doctor` found as a text for an issue or a mail: Markdown, without what tells who you are.

Secrets are redacted by their form. The home folder, the project's path, the names of user and
machine, and an engine's address are replaced.
"""

from __future__ import annotations

import contextlib
import getpass
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ctxmode import __version__
from ctxmode.doctor.diagnosis import Diagnosis
from ctxmode.doctor.remedies import remedies
from ctxmode.render.health import by_clients
from policy.secrets import redact

LIBRARIES = ("trio", "mcp", "pyseccomp", "tree-sitter", "tree-sitter-language-pack", "docker")
_HOMES = re.compile(r"/(?:home|Users)/[^/\s|`:]+")
_ADDRESS = re.compile(r"\b(tcp|ssh|https?)://[^\s|]+")


def report(diagnosis: Diagnosis, configured: Mapping[str, Any], private: Mapping[str, str]) -> str:
    """The whole text.

    `configured` is what `config show --json` gives; `private` maps a text that is not to be told
    to what stands for it.
    """
    lines = [
        f"# context-mode {__version__}",
        "",
        *(f"- {line}" for line in _versions(diagnosis)),
        *_isolation(diagnosis),
        *_languages(diagnosis),
        *_packages(diagnosis),
        *_settings(configured),
        *_notices(diagnosis),
    ]
    return anonymous("\n".join(lines) + "\n", private)


def private_words(configured: Mapping[str, Any], home: str) -> dict[str, str]:
    """What a report must not hold, longest first, and what stands for it."""
    words = {
        configured["storage"]: "STORAGE",
        configured["project"]: "PROJECT",
        home: "~",
        platform.node(): "MACHINE",
    }
    with contextlib.suppress(KeyError, OSError):  # a number that nobody's name is known of
        words[getpass.getuser()] = "USER"
    known = {word: stands for word, stands in words.items() if word not in ("", "/", "root")}
    return dict(sorted(known.items(), key=lambda item: -len(item[0])))


def anonymous(text: str, private: Mapping[str, str]) -> str:
    """The text without secrets, and without whom and what machine it is from."""
    for word, stands in private.items():
        text = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", stands, text)
    text = _ADDRESS.sub(r"\1://…", _HOMES.sub("~", text))
    return redact(text).text


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
    yield f"critical, and not working: {', '.join(diagnosis.critical) or 'nothing'}"


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return sys.platform


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "is missing"


def _isolation(diagnosis: Diagnosis) -> Iterator[str]:
    yield from ("", f"## Isolation: tier {diagnosis.isolation.tier}", "")
    yield from _table(
        ("layer", "in force", "how, or why not"),
        (
            (name, _word(layer.active), layer.detail if layer.active else layer.reason)
            for name, layer in diagnosis.isolation.layers.items()
        ),
    )


def _languages(diagnosis: Diagnosis) -> Iterator[str]:
    running = sum(it.runnable for it in diagnosis.languages.values())
    yield from ("", f"## Languages: {running} of {len(diagnosis.languages)} run", "")
    yield from _table(
        ("language", "runs", "version", "by, or why not"),
        (
            (
                name,
                _word(it.runnable),
                it.version or "",
                f"{it.toolchain} {it.path}" if it.runnable else it.reason,
            )
            for name, it in diagnosis.languages.items()
        ),
    )


def _packages(diagnosis: Diagnosis) -> Iterator[str]:
    working = sum(it.ok for it in diagnosis.packages)
    yield from ("", f"## Packages: {working} of {len(diagnosis.packages)} ecosystems", "")
    yield from _table(
        ("ecosystem", "works", "by, or why not"),
        (
            (it.ecosystem, _word(it.ok), by_clients(it) if it.ok else it.reason)
            for it in diagnosis.packages
        ),
    )


def _settings(configured: Mapping[str, Any]) -> Iterator[str]:
    own = [one for one in configured["settings"] if one["origin"] != "default"]
    yield from ("", f"## Settings: {len(own)} are not at their default", "")
    if own:
        rows = ((one["key"], str(one["value"]), one["origin"]) for one in own)
        yield from (*_table(("setting", "value", "from"), rows), "")
    yield f"profiles: {', '.join(configured['profiles'])}"
    yield from (f"warning: {warning}" for warning in configured["warnings"])


def _notices(diagnosis: Diagnosis) -> Iterator[str]:
    found = [*diagnosis.notices, *(f"{it.part}: {it.note}" for it in remedies(diagnosis))]
    if found:
        yield from ("", "## Notices, and what would help", "")
        yield from (f"- {line}" for line in found)


def _word(good: bool) -> str:
    return "yes" if good else "no"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (titles, ["---"] * len(titles), *rows):
        yield "| " + " | ".join(_cell(cell) for cell in row) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
