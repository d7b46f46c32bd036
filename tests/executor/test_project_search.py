"""What is found in a project that calls for a guard, also when it changes between two looks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from executor.model import RequestError
from executor.project.view import search as project_search
from executor.project.view.record import SETTLED_NS
from executor.project.view.search import ProjectSearch
from policy import HiddenPaths
from tests.executor.project_layout import lay_out
from tests.processes import DEADLINE_S


def found(search: ProjectSearch) -> list[str]:
    return [*search.look().secrets]


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what was written until now count as written long ago."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + SETTLED_NS)


def until_stamps_differ(project: Path) -> None:
    """Until what changes gets another time than what has changed: some kernels count in ticks."""
    last = max(path.stat().st_ctime_ns for path in (project, *project.rglob("*")))
    probe = project.with_name("probe")
    deadline = time.monotonic() + DEADLINE_S
    while not probe.exists() or probe.stat().st_ctime_ns <= last:
        assert time.monotonic() < deadline
        probe.touch()


def test_secrets_are_found_at_any_depth_but_not_in_installed_packages(project: Path):
    packages = ("node_modules/p", "node_modules/@s/p", "node_modules/.pnpm/p@1/node_modules/p")
    modules = ".venv/lib/python3.11/site-packages/p"
    lay_out(project, ".env", "a/b/server.key", "a/main.py")
    lay_out(project, *(f"{p}/{name}" for p in packages for name in ("package.json", "x.pem")))
    lay_out(project, *(f"{modules}/{name}" for name in ("__init__.py", "cacert.pem")))
    lay_out(project, ".git/refs/heads/id_rsa", ".git/objects/aa/id_rsa")
    assert found(ProjectSearch(project)) == [".env", "a/b/server.key"]


PLACES = (
    *("node_modules", "node_modules/@scope", "node_modules/.cache", "a/node_modules"),
    *(".venv", "venv/share", ".venv/lib/python3.11/site-packages"),
    *("__pycache__", "a/__pycache__", ".git", ".git/info"),
)


@pytest.mark.parametrize("is_project", [False, True], ids=["plain folder", "another project"])
@pytest.mark.parametrize("is_known", [False, True], ids=["before", "between two looks"])
@pytest.mark.parametrize("place", PLACES)
def test_moving_a_folder_to_where_packages_are_uncovers_no_secret(
    project: Path, monkeypatch, place: str, is_known: bool, is_project: bool
):
    lay_out(project, "config/.env", "config/deep/id_rsa", f"{place}/p/package.json")
    if is_project:
        (project / "config/package.json").write_text('{"name": "c", "private": true}')
    search = ProjectSearch(project)
    with monkeypatch.context() as patch:
        settled(patch)
        if is_known:
            assert found(search) == ["config/.env", "config/deep/id_rsa"]
    until_stamps_differ(project)
    (project / "config").rename(project / place / "config")
    assert found(search) == [f"{place}/config/.env", f"{place}/config/deep/id_rsa"]


@pytest.mark.parametrize("kind", ["missing", "private", "a folder", "a link"])
def test_a_package_without_a_manifest_that_is_public_is_searched(project: Path, kind: str):
    lay_out(project, "node_modules/a/.env", "node_modules/b/.env", "node_modules/b/package.json")
    manifest = project / "node_modules/a/package.json"
    if kind == "private":
        manifest.write_text('{"private": true}')
    elif kind == "a folder":
        manifest.mkdir()
    elif kind == "a link":
        manifest.symlink_to("../b/package.json")
    assert found(ProjectSearch(project)) == ["node_modules/a/.env"]


@pytest.mark.parametrize(
    "path",
    [
        *(".envs/.local/django", ".aws/credentials", ".docker/config.json", "a/.kube/config"),
        *("prod.tfvars", "passwords.json", "#.env#", "id_rsa~", ".credentials.json.swp"),
    ],
)
def test_a_secret_told_by_its_folder_or_as_a_copy_is_found(project: Path, path: str):
    lay_out(project, path, "config.json", "config/main.py", "credentials.py")
    assert found(ProjectSearch(project)) == [path]


def test_a_file_that_a_secret_name_leads_to_is_secret(project: Path):
    lay_out(project, "settings/production")
    (project / ".env").symlink_to("settings/production")
    assert "settings/production" in found(ProjectSearch(project))


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "made": (lambda p: lay_out(p, "deep/er/.env"), [".env", "deep/er/.env"]),
    "removed": (lambda p: (p / ".env").unlink(), []),
    "renamed": (lambda p: (p / ".env").rename(p / "deep/er/x.pem"), ["deep/er/x.pem"]),
    "moved with its folder": (lambda p: (p / "keys").rename(p / "deep/keys"), [".env"]),
    "in a folder that takes another's place": (
        lambda p: ((p / "deep/er").rename(p / "old"), lay_out(p, "deep/er/id_rsa")),
        [".env", "deep/er/id_rsa"],
    ),
    "a link that leads elsewhere": (
        lambda p: ((p / ".env").unlink(), (p / ".env").symlink_to("deep/er/main.py")),
        ["deep/er/main.py"],
    ),
}


@pytest.mark.parametrize("is_known", [False, True], ids=["just listed", "known"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_seen_at_once(project: Path, monkeypatch, change: str, is_known: bool):
    lay_out(project, ".env", "deep/er/main.py", "keys/main.py")
    search = ProjectSearch(project)
    with monkeypatch.context() as patch:
        if is_known:
            settled(patch)
        assert found(search) == [".env"]
    until_stamps_differ(project)
    act, expected = CHANGES[change]
    act(project)
    assert found(search) == expected


def test_what_has_not_changed_is_not_listed_again(project: Path, monkeypatch):
    lay_out(project, "a/.env", "b/main.py")
    search = ProjectSearch(project)
    settled(monkeypatch)
    assert found(search) == ["a/.env"]
    listed: list[object] = []
    monkeypatch.setattr(os, "scandir", listed.append)
    assert found(search) == ["a/.env"]
    assert listed == []


@pytest.mark.parametrize(
    ("literal", "patterns", "expected"),
    [
        (["private"], [], ["private"]),
        (["private/a.txt"], [], ["private/a.txt"]),
        (["not there"], [], []),
        (["node_modules/p/main.js"], [], ["node_modules/p/main.js"]),
        (["to-private"], [], ["private"]),
        ([], [("*.txt", None)], ["notes.txt", "private/a.txt"]),
        ([], [("*.txt", "private")], ["private/a.txt"]),
        (["../outside"], [], []),
    ],
)
def test_what_rules_deny_is_secret_too(project: Path, literal, patterns, expected):
    lay_out(project, "private/a.txt", "notes.txt", "main.py", "node_modules/p/main.js")
    lay_out(project, "../outside")
    (project / "to-private").symlink_to("private")
    search = ProjectSearch(project)
    assert found(search) == []
    denied = HiddenPaths(
        tuple(os.path.normpath(project / name) for name in literal),
        tuple((spec, anchor and str(project / anchor)) for spec, anchor in patterns),
    )
    search.deny(denied)
    assert found(search) == expected
    search.deny(HiddenPaths())
    assert found(search) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="not applicable: root reads what is closed")
def test_a_folder_that_is_closed_is_secret_as_a_whole(project: Path):
    """A program could close it in one run, and open it in the next."""
    lay_out(project, "closed/.env", "unsearchable/.env", "unsearchable/deep/.env", "main.py")
    (project / "closed").chmod(0o300)
    (project / "unsearchable").chmod(0o600)
    try:
        kept = ["closed", "unsearchable/.env", "unsearchable/deep"]
        assert found(ProjectSearch(project)) == kept
        project.chmod(0o300)
        with pytest.raises(RequestError, match="cannot list the project"):
            found(ProjectSearch(project))
    finally:
        for folder in (project, project / "closed", project / "unsearchable"):
            folder.chmod(0o700)


def test_a_project_too_large_to_be_searched_is_refused(project: Path, monkeypatch):
    lay_out(project, "a/main.py", "b/main.py", "c/.env")
    monkeypatch.setattr(project_search, "ENTRIES_MAX", 3)
    with pytest.raises(RequestError, match="too many to be searched"):
        found(ProjectSearch(project))


def test_a_folder_that_changed_while_a_long_search_went_on_is_listed_again(project, monkeypatch):
    lay_out(project, "a/main.py")
    search = ProjectSearch(project)
    now, looks = time.time_ns, iter(range(1_000))
    # Each look at the clock comes later than any stamp of the folders could matter.
    monkeypatch.setattr(time, "time_ns", lambda: now() + next(looks) * 2 * SETTLED_NS)
    assert found(search) == []
    listed: list[object] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    assert found(search) == []
    assert listed


def test_a_search_that_takes_too_long_is_refused_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "a.pem").touch()
    search = ProjectSearch(tmp_path)
    search.deny(HiddenPaths((), (("x*", None),)))
    assert found(search) == ["a.pem"]
    monkeypatch.setattr(project_search, "SECONDS_MAX", -1.0)
    (tmp_path / "b.pem").touch()
    with pytest.raises(RequestError, match="1 pattern of rules") as raised:
        search.look()
    assert "fewer rules" in raised.value.hint
