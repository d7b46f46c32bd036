"""Toolchains are found by reading made-up trees; nothing of them is ever started."""

from __future__ import annotations

import base64
import hashlib
import os
import venv
from dataclasses import replace
from pathlib import Path

import pytest

from runtimes import discovery
from runtimes.discovery import candidates, discover, missing
from runtimes.registry import LANGUAGES, language


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    return folder


def program(path: Path, content: bytes = b"\x7fELF made up") -> Path:
    """An executable that, were it started, could not run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def link(path: Path, target: Path | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def found(name, folders, home, project=None, environ=None):
    search_path = [str(folder) for folder in folders]
    return candidates(language(name), search_path, project, home, environ)


def paths(name, folders, home, project=None, environ=None):
    return [Path(c.path) for c in found(name, folders, home, project, environ)]


def test_toolchains_come_in_the_order_of_the_row(home, tmp_path):
    for name in ("node", "deno", "bun"):
        program(tmp_path / "bin" / name)
    names = [c.toolchain.name for c in found("javascript", [tmp_path / "bin"], home)]
    assert names == ["bun", "deno", "node"]
    assert [c.order for c in found("javascript", [tmp_path / "bin"], home)] == [0, 1, 2]


def test_later_places_of_a_name_are_candidates_too(home, tmp_path):
    first, second = program(tmp_path / "a/ruby"), program(tmp_path / "b/ruby")
    assert paths("ruby", [tmp_path / "a", tmp_path / "b"], home) == [first, second]


def test_one_program_under_two_paths_is_one_candidate(home, tmp_path):
    first = program(tmp_path / "a/ruby")
    link(tmp_path / "b/ruby", first)
    assert paths("ruby", [tmp_path / "a", tmp_path / "b", tmp_path / "a"], home) == [first]


def test_an_early_folder_comes_before_an_early_name(home, tmp_path):
    first, second = program(tmp_path / "a/python"), program(tmp_path / "b/python3")
    assert paths("python", [tmp_path / "a", tmp_path / "b"], home) == [first, second]


@pytest.mark.parametrize("kind", ["not executable", "a folder", "a dangling link", "relative"])
def test_what_is_no_program_is_not_found(kind, home, tmp_path):
    path = tmp_path / "bin/ruby"
    folder = path.parent
    if kind == "not executable":
        program(path).chmod(0o644)
    elif kind == "a folder":
        path.mkdir(parents=True)
    elif kind == "a dangling link":
        link(path, "nowhere")
    else:
        program(path)
        folder = Path(os.path.relpath(folder))
    assert paths("ruby", [folder], home) == []


def test_a_toolchain_of_two_programs_needs_both(home, tmp_path):
    program(tmp_path / "bin/mcs")
    alone, passed_over = discover(language("csharp"), [str(tmp_path / "bin")], None, home)
    assert alone == ()
    assert passed_over == (f"{tmp_path}/bin/mcs needs mono, which is not on PATH",)
    program(tmp_path / "other/mono")
    (both,) = found("csharp", [tmp_path / "bin", tmp_path / "other"], home)
    assert both.paths == {"mcs": f"{tmp_path}/bin/mcs", "mono": f"{tmp_path}/other/mono"}
    assert both.path_entries == (f"{tmp_path}/bin", f"{tmp_path}/other")


def test_programs_of_one_folder_belong_together(home, tmp_path):
    for folder in ("a", "b"):
        program(tmp_path / folder / "javac")
        program(tmp_path / folder / "java")
    pairs = [set(c.paths.values()) for c in found("java", [tmp_path / "a", tmp_path / "b"], home)]
    assert pairs == [
        {f"{tmp_path}/a/javac", f"{tmp_path}/a/java"},
        {f"{tmp_path}/b/javac", f"{tmp_path}/b/java"},
    ]


@pytest.mark.parametrize("folder", [".venv", "venv"])
def test_the_projects_environment_comes_first_and_shows_its_base(folder, home, project, tmp_path):
    base = program(home / ".local/share/uv/python/cpython-3.13/bin/python3.13")
    link(base.with_name("python"), "python3.13")
    python = link(project / folder / "bin/python", base)
    (project / folder / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.13\n")
    other = program(tmp_path / "bin/python3")
    own, second = found("python", [tmp_path / "bin"], home, project)
    assert (Path(own.path), own.project_specific) == (python, True)
    assert own.binds[-1:] == (str(base.parent.parent),)
    assert (Path(second.path), second.project_specific) == (other, False)


SHELL = "/usr/bin/bash"


def environment(project: Path, python: Path, home: Path | str = "") -> None:
    """A virtual environment of a project, whose interpreter is a link."""
    link(project / ".venv/bin/python", python)
    (project / ".venv/pyvenv.cfg").write_text(f"home = {home or python.parent}\n")


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (".pyenv/versions/3.13.0", ".pyenv/versions/3.13.0"),
        (".local/share/uv/python/cpython-3.13", ".local/share/uv/python/cpython-3.13"),
        ("miniconda3", "miniconda3"),
    ],
)
def test_every_language_is_shown_what_the_projects_environment_leads_to(
    place, shown, home, project, tmp_path
):
    base = program(home / place / "bin/python3.13")
    (home / place / "lib/python3.13").mkdir(parents=True)
    (home / place / "lib/python3.13/os.py").touch()
    bash = program(tmp_path / "bin/bash")
    assert found("shell", [bash.parent], home, project)[0].binds == (str(bash),)
    environment(project, base)
    (candidate,) = found("shell", [bash.parent], home, project)
    assert {*candidate.binds} == {str(bash), str(home / shown)}


@pytest.mark.parametrize(
    "path", [".ssh/id_rsa", "other/secret.txt", "other/bin/tool", "work/bin/python"]
)
def test_an_environment_that_leads_to_what_is_no_interpreter_shows_nothing(path, home, project):
    file = home / path
    file.parent.mkdir(parents=True)
    file.write_bytes(b"secret")
    file.chmod(0o755)
    (home / "work/lib").mkdir(parents=True)
    environment(project, file, home / "work/bin")
    bash = program(home / "bin/bash")
    binds = found("shell", [bash.parent], home, project)[0].binds
    assert not any((home / path).is_relative_to(bind) for bind in binds)


def test_a_folder_that_is_no_installation_is_not_shown_whole(home, project):
    base = program(home / "work/bin/python3")  # whatever else lies in that folder
    (home / "work/lib").mkdir()
    environment(project, base)
    bash = program(home / "bin/bash")
    binds = found("shell", [bash.parent], home, project)[0].binds
    assert str(base) in binds
    assert str(home / "work") not in binds


def test_what_node_modules_call_by_name_is_shown_and_on_the_path(home, project):
    node = program(home / ".nvm/versions/node/v22/bin/node")
    bash = program(home / "tools/bash")
    folders = [node.parent, bash.parent]
    (before,) = found("shell", folders, home, project)
    assert (before.binds, before.programs) == ((str(bash),), ())
    (project / "node_modules/.bin").mkdir(parents=True)
    (candidate,) = found("shell", folders, home, project)
    assert candidate.binds == (str(bash), str(home / ".nvm/versions/node/v22"))
    assert candidate.path_entries == (str(bash.parent), str(node.parent))
    system = candidate._replace(paths={"bash": SHELL})
    assert system.path_entries == (str(node.parent), "/usr/bin")


def test_the_environment_of_this_programs_own_checkout_comes_last(home, project, tmp_path):
    python = program(project / ".venv/bin/python3")
    link(project / ".venv/bin/python", python)
    (project / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (project / ".venv/.ready-app").touch()
    other = program(tmp_path / "bin/python3")
    folders = [project / ".venv/bin", tmp_path / "bin"]
    assert paths("python", folders, home, project)[0] == other
    assert not any(c.project_specific for c in found("python", folders, home, project))
    assert paths("python", folders[:1], home, project)


def test_a_real_virtual_environment_runs_as_itself(runners, home, project):
    venv.create(project / ".venv", with_pip=False)
    (own, *_) = found("python", [], home, project)
    (run, *_) = runners(language("python"))
    outcome = replace(run, candidate=own)("import sys; print(sys.prefix)")
    assert (outcome.stdout, outcome.stderr) == (f"{project / '.venv'}\n", "")


def test_the_environment_that_poetry_keeps_elsewhere_is_found(home, project):
    (project / "pyproject.toml").write_text("")
    digest = hashlib.sha256(str(project.resolve()).encode()).digest()
    key = base64.urlsafe_b64encode(digest).decode()[:8]
    folder = home / f".cache/pypoetry/virtualenvs/project-{key}-py3.12"
    python = program(folder / "bin/python")
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (own,) = found("python", [], home, project)
    assert (Path(own.path), own.project_specific) == (python, True)
    assert str(folder) in own.binds


def test_a_link_through_etc_is_followed_as_far_as_it_leads_there(home, tmp_path, monkeypatch):
    monkeypatch.setattr(discovery, "_ETC", str(tmp_path / "etc"))
    behind = link(tmp_path / "usr/bin/lua5.4", program(tmp_path / "usr/lib/lua5.4"))
    first = link(tmp_path / "etc/alternatives/lua", behind)
    link(tmp_path / "usr/bin/lua", first)
    (candidate,) = found("lua", [tmp_path / "usr/bin"], home)
    assert Path(candidate.path) == behind


def test_a_program_that_goes_by_its_name_is_not_resolved(home, tmp_path):
    link(tmp_path / "bin/ruby", program(tmp_path / "lib/many-in-one"))
    assert paths("ruby", [tmp_path / "bin"], home) == [tmp_path / "bin/ruby"]


def test_an_npm_launcher_gives_way_to_the_native_program(home, tmp_path):
    package = tmp_path / "lib/node_modules/deno"
    launcher = program(package / "bin.cjs", b"#!/usr/bin/env node\n")
    native = program(package / "node_modules/@deno/linux-x64-glibc/deno")
    link(tmp_path / "bin/deno", launcher)
    assert paths("javascript", [tmp_path / "bin"], home) == [native]


def test_a_launcher_without_a_native_program_is_kept(home, tmp_path):
    launcher = program(tmp_path / "bin/bun", b"#!/usr/bin/env node\n")
    assert paths("javascript", [tmp_path / "bin"], home) == [launcher]


def test_libraries_of_the_home_are_bound_and_named(home, tmp_path):
    program(tmp_path / "bin/python3")
    packages = home / ".local/lib/python3.11"
    packages.mkdir(parents=True)
    (candidate,) = found("python", [tmp_path / "bin"], home)
    assert candidate.env == {"PYTHONUSERBASE": f"{home}/.local"}
    assert str(packages) in candidate.binds
    assert str(home / ".local") not in candidate.binds


def test_what_lies_in_the_project_is_not_bound_again(home, project):
    ruby = program(project / "tools/bin/ruby")
    (candidate,) = found("ruby", [ruby.parent], home, project)
    assert not any(bind.startswith(str(project)) for bind in candidate.binds)


def test_a_fingerprint_changes_with_the_program_and_with_what_chose_it(home, project, tmp_path):
    root = home / ".pyenv"
    for version in ("3.11.1", "3.12.2"):
        program(root / "versions" / version / "bin/python3")
    program(root / "shims/python3", b"#!/bin/sh\n")
    (root / "version").write_text("3.11.1\n")

    def fingerprint():
        return found("python", [root / "shims"], home)[0].fingerprint

    before = fingerprint()
    assert before == fingerprint()
    (root / "version").write_text("3.11.1 \n")
    pinned = fingerprint()
    assert pinned != before
    program(root / "versions/3.11.1/bin/python3", b"\x7fELF another")
    assert fingerprint() != pinned


@pytest.mark.parametrize("row", LANGUAGES, ids=lambda row: row.name)
def test_an_empty_machine_is_missing_everything_and_says_what_helps(row, home):
    nothing, _ = discover(row, [], None, home)
    assert nothing == ()
    reason, hint = missing(row, ("a shim leads nowhere",))
    first = next(iter(row.toolchains[0].executables.values()))[0]
    assert reason.startswith("found no ")
    assert first in reason
    assert reason.endswith("; a shim leads nowhere")
    assert hint
