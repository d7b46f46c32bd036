"""How this host reaches its package servers, for the steps of a build: no image keeps any of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_FOLDER: Final = "/build/settings"
_CERTIFICATES: Final = "/etc/ssl/certs/ca-certificates.crt"
_OS_RELEASE: Final = Path("/etc/os-release")
_COMMAND_S_MAX: Final = 30.0

# Docker keeps the values of these build arguments out of an image's history, and only of these.
_PROXY_VARIABLES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY")
_NPM_KEYS: Final = ("registry", "proxy", "https-proxy", "strict-ssl")
_APT_LINE: Final = re.compile(r'^Acquire::https?::?[\w:.-]* "[^"]+";$')
_ORIGINS: Final = ("Debian", "Ubuntu")
_COMPONENTS: Final = ("main", "universe")


@dataclass(frozen=True, slots=True)
class Source:
    """One line of apt's sources: where, which suite, which component."""

    url: str
    suite: str
    component: str

    def __str__(self) -> str:
        return f"deb {self.url} {self.suite} {self.component}"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a build takes from the host."""

    files: Mapping[str, bytes] = field(default_factory=dict)  # by name, below /build/settings
    arguments: Mapping[str, str] = field(default_factory=dict)  # the build's
    codename: str = ""  # the distribution's
    sources: tuple[Source, ...] = ()  # the distribution's, its main suite first

    def for_own_base(self) -> Settings:
        """These, when what is built on was made by us from `sources`."""
        lines = "".join(f"{source}\n" for source in self.sources)
        apt = self.files.get("apt.conf", b"").decode()
        apt += f'Dir::Etc::sourcelist "{_FOLDER}/sources.list";\nDir::Etc::sourceparts "-";\n'
        files = {**self.files, "apt.conf": apt.encode(), "sources.list": lines.encode()}
        return Settings(files, self.arguments, self.codename, self.sources)


def of_host(environ: Mapping[str, str] = os.environ) -> Settings:
    """This host's. What it does not have (apt, npm, a proxy) is left out."""
    files: dict[str, bytes] = {}
    npm = _npm_settings()
    certificates = Path(environ.get("SSL_CERT_FILE") or npm.get("cafile") or _CERTIFICATES)
    if certificates.is_file():
        files["ca.crt"] = certificates.read_bytes()
    files["apt.conf"] = apt_configuration(
        _output("apt-config", "dump", "Acquire::http", "Acquire::https"), "ca.crt" in files
    ).encode()
    files["npmrc"] = npm_configuration(npm, "ca.crt" in files).encode()
    release = _OS_RELEASE.read_text("utf-8") if _OS_RELEASE.is_file() else ""
    found = re.search(r'^VERSION_CODENAME="?(\w+)', release, re.MULTILINE)
    codename = found.group(1) if found else ""
    return Settings(files, proxies(environ), codename, distribution_sources(_targets(), codename))


def proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """The proxies that the environment names, in either case."""
    names = (spelt for name in _PROXY_VARIABLES for spelt in (name, name.lower()))
    return {name: environ[name] for name in names if environ.get(name)}


def apt_configuration(dump: str, with_certificates: bool) -> str:
    """Of what apt-config says of http and https: all but files of this host."""
    lines = [line for line in dump.splitlines() if _APT_LINE.match(line) and '"/' not in line]
    if with_certificates:
        lines.append(f'Acquire::https::CaInfo "{_FOLDER}/ca.crt";')
    return "".join(f"{line}\n" for line in lines)


def npm_configuration(npm: Mapping[str, object], with_certificates: bool) -> str:
    """Where npm asks, and through what. No token: the packages are public."""
    told = {key: npm[key] for key in _NPM_KEYS if npm.get(key) is not None}
    lines = [f"{key}={json.dumps(value).strip(chr(34))}" for key, value in told.items()]
    if with_certificates:
        lines.append(f"cafile={_FOLDER}/ca.crt")
    return "".join(f"{line}\n" for line in lines)


def distribution_sources(targets: str, codename: str) -> tuple[Source, ...]:
    """The distribution's own sources among apt's, one of `_targets` a line, its main suite first.

    Other vendors' are left out: a base does not have their keys.
    """
    suites = (codename, f"{codename}-updates", f"{codename}-security")
    found: dict[Source, None] = {}
    for line in targets.splitlines():
        words = line.split()
        if len(words) != 4 or words[3] not in _ORIGINS:
            continue
        source = Source(words[0].rstrip("/"), words[1], words[2])
        if source.suite in suites and source.component in _COMPONENTS:
            found[source] = None
    return tuple(sorted(found, key=lambda s: (suites.index(s.suite), s.component)))


def _targets() -> str:
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)"
    return _output("apt-get", "indextargets", "--format", form, "Created-By: Packages")


def _npm_settings() -> dict[str, str]:
    try:
        told = json.loads(_output("npm", "config", "ls", "--json") or "{}")
    except ValueError:
        return {}
    return dict(told) if isinstance(told, dict) else {}


def _output(*command: str) -> str:
    """What a program of this host prints, if it is here and succeeds."""
    path = shutil.which(command[0])
    if path is None:
        return ""
    argv: Sequence[str] = [path, *command[1:]]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_COMMAND_S_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout if done.returncode == 0 else ""
