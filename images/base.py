"""Bases of images: one that is named, from a registry or made here, and the host's settings."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import docker
import trio
from docker.errors import ImageNotFound

from base import process
from images.groups import LABEL, PREFIX
from images.inventory import ImageError, ask

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
class Settings:
    """The host's settings that a build uses."""

    files: Mapping[str, bytes] = field(default_factory=dict)  # by name, below /build/settings
    arguments: Mapping[str, str] = field(default_factory=dict)  # the build's
    codename: str = ""  # the distribution's
    sources: tuple[str, ...] = ()  # lines of apt for the distribution, its main suite first

    def for_own_base(self) -> Settings:
        """Return these settings for a base that was made here from `sources`."""
        lines = "".join(f"{source}\n" for source in self.sources)
        apt = self.files.get("apt.conf", b"").decode()
        apt += f'Dir::Etc::sourcelist "{_FOLDER}/sources.list";\nDir::Etc::sourceparts "-";\n'
        files = {**self.files, "apt.conf": apt.encode(), "sources.list": lines.encode()}
        return Settings(files, self.arguments, self.codename, self.sources)


def of_host(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read this host's settings. Missing parts (apt, npm, a proxy) are left out."""
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
    """Return the proxies in the environment, in either case."""
    names = (spelt for name in _PROXY_VARIABLES for spelt in (name, name.lower()))
    return {name: environ[name] for name in names if environ.get(name)}


def apt_configuration(dump: str, with_certificates: bool) -> str:
    """Return apt-config's settings for http and https without files of this host."""
    lines = [line for line in dump.splitlines() if _APT_LINE.match(line) and '"/' not in line]
    if with_certificates:
        lines.append(f'Acquire::https::CaInfo "{_FOLDER}/ca.crt";')
    return "".join(f"{line}\n" for line in lines)


def npm_configuration(npm: Mapping[str, object], with_certificates: bool) -> str:
    """Return npm's registry and proxy settings. No token: the packages are public."""
    told = {key: npm[key] for key in _NPM_KEYS if npm.get(key) is not None}
    lines = [f"{key}={json.dumps(value).strip(chr(34))}" for key, value in told.items()]
    if with_certificates:
        lines.append(f"cafile={_FOLDER}/ca.crt")
    return "".join(f"{line}\n" for line in lines)


def distribution_sources(targets: str, codename: str) -> tuple[str, ...]:
    """Select the distribution's sources from the lines of `_targets`, its main suite first.

    Sources of other vendors are skipped: a base does not have their keys.
    """
    suites = (codename, f"{codename}-updates", f"{codename}-security")
    found: dict[tuple[int, str, str], None] = {}
    for words in map(str.split, targets.splitlines()):
        if len(words) != 4 or words[3] not in _ORIGINS:
            continue
        url, suite, component, _ = words
        if suite in suites and component in _COMPONENTS:
            found[suites.index(suite), component, url.rstrip("/")] = None
    ordered = sorted(found, key=lambda row: row[:2])
    return tuple(f"deb {url} {suites[at]} {component}" for at, component, url in ordered)


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
    """Return the output of a program of this host, or "" if it is missing or fails."""
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


FOLDER_PREFIX = "context-mode-base-"
LOCK = "lock"


@contextmanager
def workplace(parent: Path) -> Iterator[tuple[str, int]]:
    """Yield a new folder and the descriptor of its lock, for child processes to inherit.

    Unused folders of the same user in `parent` are removed first.

    Raises:
        OSError: `parent` can't be written.
    """
    sweep(parent)
    with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX, dir=parent) as folder:
        made = f"{folder}/{LOCK}.new"
        lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(made, f"{folder}/{LOCK}")  # nobody finds it before it is held
            yield folder, lock
        finally:
            os.close(lock)


def sweep(parent: Path) -> None:
    """Remove the folders whose lock nobody holds; one without a lock is just being made."""
    for folder in parent.glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


DEFAULT_BASE: Final = "debian:bookworm-slim"
OWN_REPOSITORY: Final = f"{PREFIX}/base"
PULL_S_MAX = IMPORT_S_MAX = 600.0
DEBOOTSTRAP_S_MAX: Final = 1200.0

# Package sources in a base that was made here: the distributions' public servers, whatever mirror
# this host used.
_PUBLIC: Final = {
    "debian": """\
deb http://deb.debian.org/debian {0} main
deb http://deb.debian.org/debian {0}-updates main
deb http://deb.debian.org/debian-security {0}-security main""",
    "ubuntu": """\
deb http://archive.ubuntu.com/ubuntu {0} main universe
deb http://archive.ubuntu.com/ubuntu {0}-updates main universe
deb http://security.ubuntu.com/ubuntu {0}-security main universe""",
}
_REMEDY: Final = "Name a local image with apt: context-mode doctor images build --base IMAGE"
_SCRIPT: Final = """\
set -eu
root=$1 suite=$2 mirror=$3
debootstrap --variant=minbase "$suite" "$root" "$mirror"
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/*
rm -f "$root"/etc/hostname "$root"/etc/resolv.conf
echo "$4" >"$root/etc/apt/sources.list"
tar --create --file="$5" --directory="$root" --one-file-system --numeric-owner \
    --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' .
"""


@dataclass(frozen=True, slots=True)
class Base:
    """The base of a build, and the settings that it uses on that."""

    reference: str
    id: str
    settings: Settings


async def find_or_make(
    api: docker.APIClient,
    wanted: str | None,
    settings: Settings,
    report: Callable[[str], None],
    *,
    fresh: bool = False,
) -> Base:
    """Find an image to build on: `wanted`, or the first one available.

    Raises:
        ImageError: none was found; the hint says how to get one.
    """
    reference = wanted or DEFAULT_BASE
    if (found := await image_id(api, reference)) is not None:
        return Base(reference, found, settings)
    own = f"{OWN_REPOSITORY}:{settings.codename or 'unknown'}"
    if wanted is None and not fresh and (found := await image_id(api, own)) is not None:
        return Base(own, found, settings.for_own_base())
    report(f"base: pulling {reference}")
    try:
        return Base(reference, await _pull(api, reference), settings)
    except ImageError as error:
        if wanted is not None:
            raise
        report(f"base: {error.message}")
        return await _make(api, own, settings, report, unreachable=error)


async def image_id(api: docker.APIClient, reference: str) -> str | None:
    """Return the ID of an image that the engine has, or None.

    Raises:
        ImageError: the engine does not answer.
    """

    def look() -> str | None:
        with suppress(ImageNotFound):
            return str(api.inspect_image(reference)["Id"])
        return None

    return await ask(look)


async def _pull(api: docker.APIClient, reference: str) -> str:
    repository, _, tag = reference.rpartition(":")
    if not repository or "/" in tag:
        repository, tag = reference, "latest"
    try:
        await ask(partial(api.pull, repository, tag), PULL_S_MAX)
    except ImageError as error:
        raise ImageError(f"cannot pull {reference}: {error.message}", _REMEDY) from error
    # A failure half-way is reported only in the stream.
    if (found := await image_id(api, reference)) is None:
        raise ImageError(f"the pull of {reference} did not finish", _REMEDY)
    return found


async def _make(
    api: docker.APIClient,
    reference: str,
    settings: Settings,
    report: Callable[[str], None],
    *,
    unreachable: ImageError,
) -> Base:
    """Make a minimal system from the mirror that this host's packages come from."""
    if missing := lacking(settings, await ask(api.version)):
        raise ImageError(f"{unreachable.message}; and {missing[0]}", missing[1])
    mirror = settings.sources[0].split()[1]
    report(f"base: making {reference} with debootstrap")
    distribution = "ubuntu" if "ubuntu" in mirror else "debian"
    with workplace(Path("/var/tmp")) as (folder, lock):
        archive = f"{folder}/base.tar"
        public = _PUBLIC[distribution].format(settings.codename)
        await _debootstrap((f"{folder}/root", settings.codename, mirror, public, archive), lock)
        made = await ask(partial(_import, api, archive, reference), IMPORT_S_MAX)
    return Base(reference, made, settings.for_own_base())


def lacking(settings: Settings, engine: dict[str, str]) -> tuple[str, str] | None:
    """Return why this host can't make a base and the fix; None if it can."""
    if not settings.codename or not settings.sources:
        return "a base can be made only on Debian or Ubuntu", _REMEDY
    if not shutil.which("debootstrap"):
        install = "sudo apt-get install -y --no-install-recommends debootstrap"
        return "debootstrap is not installed", f"Install it: {install}. Or: {_REMEDY}"
    if not process.holds(process.SYS_ADMIN, process.CHOWN):
        return "making a base needs root and its capabilities", f"Run it with sudo. Or: {_REMEDY}"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    if engine.get("Arch", machine) != machine:
        return f"the engine is for {engine['Arch']}, this host is {machine}", _REMEDY
    return None


async def _debootstrap(arguments: tuple[str, ...], lock: int) -> None:
    """Run debootstrap in new namespaces, so that its mounts and processes end with it.

    It also holds the lock of the folder, in case it outlives this process.
    """
    isolated = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
    command = [*isolated, "sh", "-c", _SCRIPT, "base", *arguments]
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        with trio.fail_after(DEBOOTSTRAP_S_MAX):
            done = await trio.run_process(
                command,
                capture_stdout=True,
                stderr=subprocess.STDOUT,
                check=False,
                env=environment,
                deliver_cancel=_kill,
                pass_fds=(lock,),
            )
    except trio.TooSlowError as error:
        hint = "Check that the mirror in apt's sources answers."
        raise ImageError(f"debootstrap did not end in {DEBOOTSTRAP_S_MAX:g} s", hint) from error
    if done.returncode != 0:
        output = done.stdout.decode(errors="replace")
        hint = "Check that apt-get update works on this host and that /var/tmp has 1 GB free."
        raise ImageError("debootstrap failed", hint, output)


async def _kill(process: trio.Process) -> None:
    process.send_signal(signal.SIGKILL)


def _import(api: docker.APIClient, archive: str, reference: str) -> str:
    repository, _, tag = reference.rpartition(":")
    changes = [f"LABEL {LABEL}=base"]
    with open(archive, "rb") as content:
        api.import_image(src=content, repository=repository, tag=tag, changes=changes)
    # If the engine refuses half-way, it reports success and makes no image.
    return str(api.inspect_image(reference)["Id"])
