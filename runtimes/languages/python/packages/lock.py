"""Turn a lock of poetry, pdm or pipenv into a list for uv, with its digests and markers.

    python python_lock.py poetry.lock REGISTRY > requirements.txt

Runs in the cell that fetches, by the interpreter that the packages are for. The main group is used.
Ambiguous locks are refused: uv installs exactly the lock, and finds by the packages' own needs
whether something is missing.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

PUBLIC = "https://pypi.org/simple"
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_VERSION = r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,99}"
_MARKER = r"[A-Za-z0-9_.\s<>=!~'\"(),*+-]{1,20000}"
_DIGEST = r"sha(?:256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})"
_CLAUSE = re.compile(r"(\^|~=|~|===?|!=|>=|<=|>|<|)\s*([0-9]{1,4}(?:\.[0-9]{1,4}){0,3})(\.\*)?")
_OF_NO_REGISTRY = ("git", "hg", "svn", "bzr", "vcs", "path", "file", "url", "editable")


Version = tuple[int, ...]


class LockError(Exception):
    """A lock that can't be used as it is; the message gives the reason and the remedy."""


class Pin(NamedTuple):
    """A package of the main group; one without a version was not needed where the lock was made."""

    name: str
    extras: Sequence[str]
    version: str
    marker: str
    digests: Sequence[str]


def convert(name: str, content: bytes, registry: str, python: Version) -> str:
    """Return the list of a lock's main group.

    Raises:
        LockError: it is damaged, of another form, or ambiguous.
    """
    try:
        pins = list(READERS[name](_parse(name, content), registry, python))
        return "".join(_line(pin) for pin in pins)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise LockError(f"it is damaged, or of another form: {error!r}") from error


def _parse(name: str, content: bytes) -> Any:  # noqa: ANN401 - as it was written
    if name == "Pipfile.lock":
        return json.loads(content)
    try:
        import tomllib  # noqa: PLC0415 - Pipfile.lock needs none, and is read by older ones too
    except ImportError as error:
        raise LockError("to read it takes Python 3.11 or later") from error
    return tomllib.loads(content.decode())


def _line(pin: Pin) -> str:
    """Write one line of the list; uv refuses one without a version if its marker holds."""
    name, extras, version, marker, digests = pin
    for text, pattern in ((name, _NAME), *((extra, _NAME) for extra in extras)):
        if not re.fullmatch(pattern, text):
            raise LockError(f"{text[:80]!r} is not a package name")
    line = f"{name}[{','.join(sorted(extras))}]" if extras else name
    if version:
        if not re.fullmatch(_VERSION, version):
            raise LockError(f"{name}: {version[:80]!r} is not a version")
        line += f"=={version}"
    if marker:
        if not re.fullmatch(_MARKER, marker) or "--" in marker:
            raise LockError(f"{name}: {marker[:80]!r} is not a marker")
        line += f" ; {' '.join(marker.split())}"
    if version and not digests:
        raise LockError(f"it holds no digest of {name} {version}")
    for digest in sorted(set(digests)):
        if not re.fullmatch(_DIGEST, digest):
            raise LockError(f"{name}: {digest[:80]!r} is not a trusted digest")
        line += f" --hash={digest}"
    return f"{line}\n"


def read_poetry(lock: Any, registry: str, python: Version) -> Iterator[Pin]:  # noqa: ANN401
    """Read a lock of poetry 2, which has the groups and markers of each package."""
    about = lock["metadata"]
    form = tuple(int(part) for part in about["lock-version"].split("."))
    if form < (2, 1):
        raise LockError(
            "it is of a poetry before 2, whose locks lack the conditions of packages: update it "
            "(`poetry lock` of poetry 2), or `poetry export -o requirements.txt`"
        )
    if form >= (3,):
        raise LockError(f"its form {about['lock-version']} is unknown")
    _check_python((about["python-versions"],), python)
    for package in lock.get("package", ()):
        if "main" not in package["groups"]:
            continue
        name, source = package["name"], package.get("source", {})
        if source:
            if source["type"] != "legacy":
                _refuse_address(name, source["url"])
            _check_registry(name, source["url"], registry)
        marker = package.get("markers", "")
        if isinstance(marker, dict):  # by group
            marker = marker.get("main", "")
        digests = [file["hash"] for file in package["files"]]
        yield Pin(name, (), package["version"], marker, digests)


def read_pdm(lock: Any, registry: str, python: Version) -> Iterator[Pin]:  # noqa: ANN401
    """Read a lock of pdm, which has the same if it inherits metadata, as by default."""
    about = lock["metadata"]
    export = "`pdm export --prod -o requirements.txt`"
    if "inherit_metadata" not in about.get("strategy", ()):
        raise LockError(
            "it lacks the conditions of packages: `pdm lock --update-reuse --strategy "
            f"inherit_metadata`, or {export}"
        )
    if "default" not in about["groups"]:
        raise LockError("it holds other groups than the default one: `pdm lock`")
    targets = about["targets"]
    if any(set(target) - {"requires_python"} for target in targets):
        raise LockError(f"it is for single platforms: {export}")
    _check_python([one.get("requires_python") or "*" for one in targets], python)
    for package in lock.get("package", ()):
        if "default" not in package["groups"]:
            continue
        name = package["name"]
        for key in _OF_NO_REGISTRY:
            if package.get(key):
                _refuse_address(name, package[key])
        files = package.get("files", ())
        for url in [file["url"] for file in files if "url" in file]:
            if not url.startswith("https://files.pythonhosted.org/"):
                _check_registry(name, url, registry)
        digests = [file["hash"] for file in files]
        marker = package.get("marker", "")
        yield Pin(name, package.get("extras", ()), package["version"], marker, digests)


def read_pipenv(lock: Any, registry: str, python: Version) -> Iterator[Pin]:  # noqa: ANN401
    """Read a lock of pipenv, which lacks versions that its own interpreter does not need."""
    sources = lock["_meta"]["sources"]
    urls = {source["name"]: source["url"] for source in sources}
    first = sources[0]["url"] if sources else PUBLIC
    for name, package in lock.get("default", {}).items():
        for key in _OF_NO_REGISTRY:
            if package.get(key):
                _refuse_address(name, package[key])
        _check_registry(name, urls[package["index"]] if "index" in package else first, registry)
        version = package.get("version", "")
        if version and not version.startswith("=="):
            raise LockError(f"{name}: {version[:80]!r} is not one version")
        marker, digests = package.get("markers", ""), package.get("hashes", ())
        yield Pin(name, package.get("extras", ()), version.lstrip("="), marker, digests)


READERS = {"poetry.lock": read_poetry, "pdm.lock": read_pdm, "Pipfile.lock": read_pipenv}


def _refuse_address(name: str, address: object) -> NoReturn:
    raise LockError(f"{name} comes from {_shown(str(address))}, which is not a registry")


def _check_registry(name: str, url: str, registry: str) -> None:
    if url.rstrip("/") not in {PUBLIC, registry.rstrip("/")}:
        raise LockError(f"{name} comes from {_shown(url)}, which is another registry")


def _shown(url: str) -> str:
    """Return an address without the password that it may hold."""
    return re.sub(r"//[^/@]*@", "//", url)[:120]


def _check_python(ranges: Iterable[str], python: Version) -> None:
    """Refuse versions outside those of the lock: they may need packages that it lacks."""
    if not any(holds(text, python) for text in ranges):
        version = ".".join(str(part) for part in python)
        raise LockError(f"it is for Python {' or '.join(ranges)}, and this is {version}")


def holds(text: str, python: Version) -> bool:
    """Return whether a version of Python is within poetry's or pdm's words.

    Raises:
        LockError: they are invalid.
    """
    return any(
        all(_clause_holds(clause, python) for clause in re.split(r"\s*,\s*|(?<=[0-9*])\s+", one))
        for one in (part.strip() for part in re.split(r"\|\|?", text))
    )


def _clause_holds(clause: str, python: Version) -> bool:
    if clause in {"", "*"}:
        return True
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        raise LockError(f"its versions of Python are unclear: {clause[:80]!r}")
    sign, digits, any_below = found.groups()
    given = tuple(int(part) for part in digits.split("."))
    wanted = (*given, 0, 0, 0)[:3]
    is_equal = python[: len(given)] == given if any_below else python == wanted
    if sign in {"", "==", "==="}:
        return is_equal
    if sign == "!=":
        return not is_equal
    if sign in {"^", "~=", "~"}:
        kept = {"^": 1, "~=": max(len(given) - 1, 1), "~": min(len(given), 2)}[sign]
        return python >= wanted and python[:kept] == wanted[:kept]
    compared = {">=": python >= wanted, "<=": python <= wanted}
    return {**compared, ">": python > wanted, "<": python < wanted}[sign]


def main(path: str, registry: str) -> None:
    """Write the list, or the reason for a refusal."""
    name = os.path.basename(path)
    with open(path, "rb") as file:
        content = file.read()
    try:
        sys.stdout.write(convert(name, content, registry, tuple(sys.version_info[:3])))
    except LockError as refused:
        sys.exit(f"{name} is not taken: {refused}")


if __name__ == "__main__":
    main(*sys.argv[1:])
