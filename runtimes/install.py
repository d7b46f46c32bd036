"""What to install for a language, per platform, and a shell script that installs it all."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from base.remedy import Remedy, type_command
from runtimes.model import Language, Packages
from runtimes.registry import LANGUAGES

_OS_RELEASE: Final = Path("/etc/os-release")
_APT: Final = "apt-get install -y --no-install-recommends"

# Packages that bring a command which may already be there from elsewhere, and then conflict.
_COMMAND_OF: Final = {"nodejs": "node", "npm": "npm", "python3": "python3", "bash": "bash"}


def platform(os_release: str | None = None) -> str:
    """Which package manager this machine has: debian, fedora, arch, brew, windows or unknown."""
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
    """One command that installs the language on a platform, by default this one."""
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


def debian_packages(languages: Iterable[Language] = LANGUAGES) -> tuple[str, ...]:
    """Debian packages that the languages need, each once."""
    return tuple(dict.fromkeys(name for row in languages for name in row.packages.debian))


def npm_packages(languages: Iterable[Language] = LANGUAGES) -> tuple[str, ...]:
    """npm packages that the languages need, each once."""
    return tuple(dict.fromkeys(name for row in languages for name in row.packages.npm))


def install_script(languages: Iterable[Language] = LANGUAGES) -> str:
    """A POSIX shell script that installs the languages on Debian or Ubuntu.

    A package whose command is already there is left out, as a second node conflicts with the first.
    """
    rows = tuple(languages)
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
