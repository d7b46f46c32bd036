"""Which files of a project are hidden from runs, and what tier B may read."""

from __future__ import annotations

import inspect
import os
import socket
import sys
from pathlib import Path

import pytest

from executor.cells.placement import list_readable
from executor.project.view.search import Guarded, ProjectSearch
from policy import HiddenPaths
from tests.executor.project_layout import lay_out


def make_special(project: Path, *names: str) -> None:
    for name in names:
        if name.endswith(".sock"):
            folder = os.open(project, os.O_PATH)  # whose own path may be too long for a socket's
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(f"/proc/self/fd/{folder}/{name}")
            os.close(folder)
        else:
            os.mkfifo(project / name)


def test_secrets_and_what_is_no_file_are_hidden(project: Path):
    lay_out(project, ".env", ".git/hooks/", ".vscode/settings.json", "deep/er/id_rsa")
    make_special(project, "dev.sock", "deep/pipe", "deep/.env")
    assert ProjectSearch(project).find_guarded() == Guarded(
        secrets=(".env", "deep/er/id_rsa"), special=("deep/.env", "deep/pipe", "dev.sock")
    )


def test_a_profile_may_show_a_socket_by_its_name(project: Path):
    make_special(project, "dev.sock", "other.sock")
    assert ProjectSearch(project).find_guarded(("dev.sock",)).special == ("other.sock",)


def test_a_link_to_a_special_file_is_a_link(project: Path):
    make_special(project, "pipe")
    (project / "link").symlink_to("pipe")
    assert ProjectSearch(project).find_guarded().special == ("pipe",)


def test_among_packages_special_files_are_found_where_nothing_else_keeps_them_away(project: Path):
    lay_out(project, "node_modules/a/package.json", "main.py")
    make_special(project, "node_modules/a/pipe")
    search = ProjectSearch(project)
    assert search.look().special == ()
    assert search.look(everywhere=True).special == ("node_modules/a/pipe",)
    granted = dict(list_readable(search))
    assert granted[str(project)] == "list"
    assert f"{project}/node_modules/a/pipe" not in granted


@pytest.mark.parametrize("place", ["hidden/pipe", "hidden/deep/er/pipe"])
def test_a_pipe_in_a_folder_that_is_hidden_uncovers_nothing_beside_it(project: Path, place: str):
    lay_out(project, "hidden/deep/er/main.py", "hidden/key.txt", "open/main.py")
    make_special(project, place)
    search = ProjectSearch(project)
    assert dict(list_readable(search))[f"{project}/hidden/key.txt"] == "r"  # the control
    search.deny(HiddenPaths((f"{project}/hidden",)))
    assert dict(list_readable(search)) == {str(project): "list", f"{project}/open": "r"}


def test_a_project_without_secrets_is_granted_whole(project: Path):
    lay_out(project, "src/main.py")
    assert list_readable(ProjectSearch(project)) == ((str(project), "r"),)


def test_beside_a_secret_entries_are_granted_one_by_one(project: Path):
    lay_out(project, "deep/er/.env", "deep/er/main.py", "deep/other.py", "src/main.py", "top.txt")
    granted = {
        os.path.relpath(path, project): access
        for path, access in list_readable(ProjectSearch(project))
    }
    assert granted == {
        ".": "list",
        "deep": "list",
        "deep/er": "list",
        "deep/er/main.py": "r",
        "deep/other.py": "r",
        "src": "r",
        "top.txt": "r",
    }


def test_links_are_granted_nothing_of_their_own(project: Path, tmp_path: Path):
    lay_out(project, ".env", "main.py")
    (project / "to a secret").symlink_to(".env")
    (project / "to the outside").symlink_to(tmp_path)
    granted = {
        os.path.relpath(path, project): access
        for path, access in list_readable(ProjectSearch(project))
    }
    assert granted == {".": "list", "main.py": "r"}


def chain(project: Path, length: int) -> None:
    (project / "chain").mkdir()
    for number in range(length):
        (project / "chain" / str(number)).symlink_to(str(number + 1))
    (project / "chain" / str(length)).write_text("x")


@pytest.mark.parametrize("length", [20, 60, 5000])
def test_a_secret_behind_links_is_hidden_where_anybody_can_follow_them(project: Path, length: int):
    chain(project, length)
    (project / ".env").symlink_to("chain/0")
    is_followed = length < 40
    hidden = (f"chain/{length}",) if is_followed else ()
    assert ProjectSearch(project).find_guarded().secrets == hidden


def test_links_in_a_circle_hide_nothing_and_let_a_run_begin(project: Path):
    (project / ".env").symlink_to(".env")
    (project / "loop").symlink_to("loop")
    (project / "id_rsa").symlink_to("loop/key")
    assert ProjectSearch(project).find_guarded() == Guarded()


def test_what_is_hidden_is_found_at_any_depth(project: Path):
    depth = 80
    folder = project.joinpath("node_modules", *["d"] * depth)
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    search = ProjectSearch(project)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + depth)
    try:
        found = search.look(everywhere=True).special
    finally:
        sys.setrecursionlimit(limit)
    assert found == (str(folder.relative_to(project) / "pipe"),)
