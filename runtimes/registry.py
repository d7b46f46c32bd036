"""Table of languages: rows by name or file, and packages to install for each."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from base.wording import Remedy, type_command
from runtimes.languages import list_languages
from runtimes.model import Language, Packages


@cache
def _load_row(name: str) -> Language:
    row: Language = import_module(f"runtimes.languages.{name}.row").ROW
    return row


@cache
def _load_rows() -> tuple[Language, ...]:
    rows = map(_load_row, list_languages("row.py"))
    return tuple(sorted(rows, key=lambda row: (row.order, row.name)))


if TYPE_CHECKING:
    LANGUAGES: tuple[Language, ...]
    """The rows of all folders of `runtimes/languages` that have one."""


def __getattr__(name: str) -> tuple[Language, ...]:
    """Return all rows at the first use of `LANGUAGES`: most runs need one."""
    if name != "LANGUAGES":
        raise AttributeError(name)
    return _load_rows()


# The kernel does not read a longer `#!` line (BINPRM_BUF_SIZE is 256).
_SHEBANG_BYTES = 256


class UnknownLanguage(LookupError):  # noqa: N818 - reads as what it is
    """No row has this name; the message lists similar ones."""


def language(name: str) -> Language:
    """Return the row for a name or alias, whatever its case.

    Raises:
        UnknownLanguage: no row has this name.
    """
    wanted = name.strip().lower()
    if wanted in list_languages("row.py"):
        return _load_row(wanted)
    by_name = {name: row for row in _load_rows() for name in (row.name, *row.aliases)}
    if row := by_name.get(wanted):
        return row
    close = difflib.get_close_matches(wanted, by_name, n=3)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    known = ", ".join(row.name for row in _load_rows())
    raise UnknownLanguage(f"unknown language {name!r}: {meant}Known languages: {known}")


def language_for_file(path: Path) -> Language:
    """Return the row for a file, by its extension, else by its `#!` line.

    Raises:
        UnknownLanguage: neither matches, or it is not a file.
        OSError: a file without a known extension cannot be read.
    """
    by_extension = {one.lower(): row for row in _load_rows() for one in row.extensions}
    by_interpreter = {name: row for row in _load_rows() for name in row.interpreters}
    if row := by_extension.get(path.suffix.lower()):
        return row
    if path.exists() and not path.is_file():
        raise UnknownLanguage(f"{path.name!r} is not a regular file")
    with path.open("rb") as file:
        first = file.read(_SHEBANG_BYTES).split(b"\n", 1)[0].decode("utf-8", "replace")
    for word in _shebang_names(first):
        if row := by_interpreter.get(word) or by_interpreter.get(word.rstrip("0123456789.")):
            return row
    raise UnknownLanguage(
        f"cannot tell the language of {path.name!r} from its extension or first line: name one"
    )


def _shebang_names(line: str) -> Iterator[str]:
    """Yield the program a `#!` line starts, or the one that it starts by env."""
    words = line.removeprefix("#!").split() if line.startswith("#!") else []
    for word in words:
        name = Path(word).name
        if name == "env" or word.startswith("-") or "=" in word:
            continue
        yield name
        return


_OS_RELEASE: Final = Path("/etc/os-release")
_APT: Final = "apt-get install -y --no-install-recommends"

# Packages whose command may already be installed from elsewhere, with which they conflict.
_COMMAND_OF: Final = {"nodejs": "node", "npm": "npm", "python3": "python3", "bash": "bash"}


def platform(os_release: str | None = None) -> str:
    """Return this machine's package manager: debian, fedora, arch, brew, windows or unknown."""
    if sys.platform == "darwin":
        return "brew"
    if sys.platform == "win32":
        return "windows"
    if os_release is None:
        os_release = _OS_RELEASE.read_text("utf-8") if _OS_RELEASE.is_file() else ""
    found = re.findall(r'^ID(?:_LIKE)?="?([^"\n]*)', os_release, re.MULTILINE)
    names = " ".join(found).split()
    known = {"debian": "debian", "ubuntu": "debian", "fedora": "fedora", "rhel": "fedora"}
    known |= {"arch": "arch"}
    return next((known[name] for name in names if name in known), "unknown")


def hint(language: Language, on: str | None = None) -> Remedy:
    """Return one command that installs the language on a platform, by default this one."""
    packages = language.packages
    commands = {
        "debian": _debian_hint(packages),
        "fedora": f"sudo dnf install {' '.join(packages.fedora)}",
        "arch": f"sudo pacman -S {' '.join(packages.arch)}",
        "brew": f"brew install {' '.join(packages.brew)}",
        "windows": f"winget install {' '.join(packages.windows)}",
    }
    names = ", ".join(packages.debian)
    unknown = f"install {language.title} with this system's package manager (Debian: {names})"
    command = commands.get(on or platform())
    return type_command(command) if command else Remedy(unknown)


def _debian_hint(packages: Packages) -> str:
    command = f"sudo {_APT} {' '.join(packages.debian)}"
    return f"{command} && sudo npm install -g {' '.join(packages.npm)}" if packages.npm else command


def debian_packages(languages: Iterable[Language] | None = None) -> tuple[str, ...]:
    """List Debian packages that the languages need, each once."""
    return tuple(
        dict.fromkeys(name for row in languages or _load_rows() for name in row.packages.debian)
    )


def npm_packages(languages: Iterable[Language] | None = None) -> tuple[str, ...]:
    """List npm packages that the languages need, each once."""
    return tuple(
        dict.fromkeys(name for row in languages or _load_rows() for name in row.packages.npm)
    )


def install_script(languages: Iterable[Language] | None = None) -> str:
    """Return a POSIX shell script that installs the languages on Debian or Ubuntu.

    A package is left out if its command is installed, as a second node conflicts with the first.
    """
    rows = _load_rows() if languages is None else tuple(languages)
    debian, npm = debian_packages(rows), npm_packages(rows)
    plain = [name for name in debian if name not in _COMMAND_OF]
    guarded = [name for name in debian if name in _COMMAND_OF]
    lines = [
        "#!/bin/sh",
        f"# Installs on Debian or Ubuntu: {', '.join(row.title for row in rows)}.",
        "set -eu",
        'if [ "$(id -u)" -eq 0 ]; then as_root=; else as_root=sudo; fi',
        "export DEBIAN_FRONTEND=noninteractive",
        f'packages="{" ".join(plain)}"',
        *(
            f'command -v {_COMMAND_OF[name]} >/dev/null 2>&1 || packages="$packages {name}"'
            for name in guarded
        ),
        'if [ -n "$packages" ]; then',
        '    echo "apt-get: $packages"',
        "    $as_root apt-get update",
        f"    $as_root env DEBIAN_FRONTEND=noninteractive {_APT} $packages",
        "fi",
    ]
    if npm:
        names = shlex.join(npm)
        lines += [
            f"echo 'npm -g: {names}'",
            f"$as_root npm install -g --no-fund --no-audit {names}",
        ]
    return "\n".join(lines) + "\n"
