"""Hosts from npm, each at its pinned version in a folder of its own, kept from run to run.

`python -m tests.hosts.installing` installs those that are missing, before tests need them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.hosts.catalog import HOSTS, DrivenHost

NODE = "node@22.23.3"  # some hosts need a later one than the system's
SECONDS_MAX = 300
WHY_CHARS_MAX = 200


class NotInstalledError(Exception):
    """A host cannot be had; the message says why."""


def cache_folder() -> Path:
    """Where hosts are kept: CTXMODE_HOSTS_CACHE, or a folder of the person's cache."""
    given = os.environ.get("CTXMODE_HOSTS_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(given) if given else Path(base) / "ctxmode-hosts"


def install(package: str, cache: Path) -> Path:
    """Install a package unless it is here; the folder of its programs.

    Raises:
        NotInstalledError: npm is missing, fails or takes too long.
    """
    folder = cache / package.replace("/", "+")
    cache.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second finds it installed
        programs = folder / "node_modules" / ".bin"
        if not programs.is_dir():
            _install(package, folder)
        return programs


def _install(package: str, folder: Path) -> None:
    """Have npm install a package in a folder that is there once it is whole."""
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalledError("npm is not installed")
    with tempfile.TemporaryDirectory(dir=folder.parent) as begun:
        words = [npm, "install", "--prefix", begun, "--no-fund", "--no-audit", package]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
            )
        except subprocess.TimeoutExpired:
            raise NotInstalledError(f"npm took more than {SECONDS_MAX} s for {package}") from None
        if done.returncode:
            said = [line.removeprefix("npm error ") for line in done.stderr.splitlines()]
            why = "; ".join(line for line in said if line and not line.startswith("npm "))
            raise NotInstalledError(f"npm cannot install {package}: {why[:WHY_CHARS_MAX]}")
        Path(begun).rename(folder)
        Path(begun).mkdir()  # what is removed at the end


def install_host(host: DrivenHost, cache: Path) -> tuple[Path, Path]:
    """Install a host and a Node.js that it runs with; its program, and the folder of `node`.

    Raises:
        NotInstalledError: one of them cannot be had.
    """
    programs = install(f"{host.package}@{host.version}", cache)
    return programs / host.program, install(NODE, cache)


if __name__ == "__main__":
    for driven in HOSTS:
        try:
            print(install_host(driven, cache_folder())[0])
        except NotInstalledError as error:  # the tests that need it skip, and say so, too
            print(f"{driven.name}: {error}")
