"""Clients from npm, installed once for all tests of a run."""

import fcntl
import shutil
import subprocess
from pathlib import Path

from tests.needs import need

INSTALL_S_MAX = 300


def installed(name, tmp_path_factory):
    """A folder with what the folder `name` beside this file holds and depends on."""
    need("npm")
    # Workers of one test run share the folder above theirs.
    folder = tmp_path_factory.getbasetemp().parent / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules").exists():
            shutil.copytree(Path(__file__).parent / name, folder, dirs_exist_ok=True)
            command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run(
                command, cwd=folder, check=True, timeout=INSTALL_S_MAX, capture_output=True
            )
    return folder
