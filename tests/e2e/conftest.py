"""The program as its users start it: a process with a project, a home and storage of its own."""

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-P", "-m", "ctxmode")
DEADLINE_S = 120
PROBES = "state/probes.json"
PROBES_S_MAX = 600


@dataclass(frozen=True)
class Place:
    """A project, and the environment in which the program is started for it."""

    project: Path
    home: Path
    data: Path
    command: tuple[str, ...] = COMMAND
    shared: str = "off"  # whether commands use the shared instance: `shared_instances` opens one

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "CONTEXT_MODE_DIR": str(self.data),
            "CONTEXT_MODE_PROJECT_DIR": str(self.project),
            "CONTEXT_MODE_INSTANCE_SHARED": self.shared,
        }

    def run(
        self, *arguments, stdin=b"", deadline_s=DEADLINE_S, **environment
    ) -> subprocess.CompletedProcess[bytes]:
        """One command line, to its end."""
        return subprocess.run(
            [*self.command, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=self.project,
            env=self.environment | environment,
            timeout=deadline_s,
            check=False,
        )


@pytest.fixture(scope="session")
def probes(tmp_path_factory):
    """The file of what is known of every language that has been tried here.

    Found once for all workers: it takes longer than most of these tests.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    empty = folder / "probed"
    empty.mkdir(exist_ok=True)
    place = Place(empty, empty, folder / "probed-data")
    with (folder / "probed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place.data / PROBES).exists():
            place.run("doctor", deadline_s=PROBES_S_MAX)
    return place.data / PROBES


@pytest.fixture
def place(tmp_path, probes):
    """A small project on disk: a log, a script, a page, a secret beside it.

    Every language has been tried: a first use is for tests that have storage of their own.
    """
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "docs").mkdir(parents=True)
    home.mkdir()
    (project / "app.log").write_bytes(b"".join(b"request %d ok\n" % n for n in range(2000)))
    (project / "count.py").write_text("import sys\nprint(len(sys.argv[1:]), *sys.argv[1:])\n")
    (project / "docs" / "guide.md").write_text("# Guide\n\n## Retries\n\nA retry waits.\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    place = Place(project, home, tmp_path / "data")
    (place.data / PROBES).parent.mkdir(parents=True)
    shutil.copy(probes, place.data / PROBES)
    return place
