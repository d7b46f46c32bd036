"""What blocks of the documents need besides programs, made for the time in which one is run.

Each is given the words that follow its name in `<!-- needs: NAME WORDS -->`. It may give two texts:
the first is replaced by the second in the block.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.executor.packages.python_index import Index
from tests.executor.packages.served import JSON, serve

DOWNLOAD_S_MAX = 300
LOG_BYTES = "CTXMODE_DOCS_LOG_BYTES"  # how large the large log is; 2 GB by hand
LOG_BYTES_HERE = 16 << 20
Said = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block is run, and a folder that all tests of a run share."""

    project: Path
    environ: dict[str, str]
    shared: Path


@contextmanager
def packages(place: Place, *names: str) -> Iterator[Said]:
    """Serve packages of Python's, with all that they require, from a registry of this machine."""
    wheels = _download(place, names)
    with serve() as served:
        index = Index(served)
        for path in sorted(wheels.glob("*.whl")):
            index.add_file(path)
        _configure(
            place,
            f'[packages]\nallow = ["python"]\n\n'
            f'[packages.python]\nregistry = "{index.url}"\nprivate = true\n',
        )
        yield None


def _download(place: Place, names: tuple[str, ...]) -> Path:
    """A folder with the wheels of packages, for the Python that programs are run by."""
    folder = place.shared / f"wheels-{'-'.join(names)}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = folder.with_suffix(".part")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(made),
                       "--only-binary=:all:", "--python-version", _version(place)]  # fmt: skip
            done = subprocess.run(
                [*command, *names], capture_output=True, timeout=DOWNLOAD_S_MAX, check=False
            )
            if done.returncode != 0:
                pytest.skip(f"pip has no {' and '.join(names)}: {done.stderr.decode()[-300:]}")
            made.rename(folder)
    return folder


def _version(place: Place) -> str:
    code = "import sys; print(*sys.version_info[:2], sep='.')"
    command = ["context-mode", "run", "python", "-c", code]
    asked = subprocess.run(
        command, cwd=place.project, env=place.environ, capture_output=True, text=True, check=True
    )
    return asked.stdout.strip()


def _configure(place: Place, text: str) -> None:
    file = Path(place.environ["HOME"], ".config/ctxmode/config.toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@contextmanager
def api(place: Place, address: str) -> Iterator[Said]:
    """Serve exchange rates at `/rates` of this machine, at a port that is free."""
    with serve() as served:
        rates = {"base": "EUR", "rates": {"CHF": 0.94, "USD": 1.16}}
        served.files["/rates"] = (JSON, json.dumps(rates).encode())
        yield address, f"localhost:{served.port}"


@contextmanager
def venv(place: Place, *programs: str) -> Iterator[Said]:
    """A virtual environment in the project, with programs of the one that runs the tests."""
    folder = place.project / ".venv" / "bin"
    folder.mkdir(parents=True)
    for program in programs:
        found = Path(sys.prefix, "bin", program)
        if not found.exists():
            pytest.skip(f"no {program} in {found.parent}")
        shutil.copy2(found, folder)
    yield None


@contextmanager
def log(place: Place, name: str) -> Iterator[Said]:
    """A log of a web server. Every 50th request failed, and those are of four pages."""
    part = "".join(
        f"2026-11-{n % 28 + 1:02} 10.0.0.{n % 7} GET /page/{n % 40} {200 if n % 50 else 500}\n"
        for n in range(20_000)
    ).encode()
    left = int(os.environ.get(LOG_BYTES, LOG_BYTES_HERE))
    with (place.project / name).open("wb") as made:
        while left > 0:
            left -= made.write(part)
    yield None


NEEDS: dict[str, Callable[..., AbstractContextManager[Said]]] = {
    "api": api,
    "log": log,
    "packages": packages,
    "venv": venv,
}
