"""Version managers' shims are read off the disk, as each manager would resolve them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtimes.places import resolve


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("made up")
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "code/project"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def pyenv(home: Path) -> Path:
    root = home / ".pyenv"
    executable(root / "shims/python3")
    for version in ("3.9.18", "3.11.2", "3.11.10"):
        executable(root / "versions" / version / "bin/python3")
    return root


def versions(shim):
    return [target.parent.parent.name for target in shim[0]]


def test_a_program_that_is_no_shim_is_itself(home, tmp_path):
    path = executable(tmp_path / "bin/python3")
    assert resolve(path, None, home, {})[0] == (path,)


@pytest.mark.parametrize(
    "case",
    [
        ("3.9.18", "3.11.2", "3.11.10", ["3.9.18"]),
        (None, "3.11.2", "3.11.10", ["3.11.2"]),
        (None, None, "3.11.10", ["3.11.10"]),
        (None, "3.11", "3.9.18", ["3.11.10"]),
        (None, "3.9.18\n3.11.2\n", None, ["3.9.18", "3.11.2"]),
        (None, "", "3.9.18", ["3.9.18"]),
        ("3.9.18:3.11.2", None, None, ["3.9.18", "3.11.2"]),
    ],
)
def test_pyenv_is_read_in_its_own_order(case, pyenv, home, project):
    variable, local, globally, expected = case
    if local is not None:
        (project.parent / ".python-version").write_text(local)
    if globally is not None:
        (pyenv / "version").write_text(globally)
    environ = {"PYENV_VERSION": variable} if variable else {}
    shim = resolve(pyenv / "shims/python3", project, home, environ)
    assert versions(shim) == expected


@pytest.mark.parametrize("wanted", ["system", "2.6", "3.14", ""])
def test_a_version_that_is_not_there_is_a_reason(wanted, pyenv, home):
    (pyenv / "version").write_text(wanted)
    shim = resolve(pyenv / "shims/python3", None, home, {})
    assert shim[0] == ()
    assert shim[2] == f"{pyenv} is set to {wanted or 'no version'}, which has no python3"


def test_rbenv_has_its_own_names(home, project):
    executable(home / ".rbenv/shims/ruby")
    target = executable(home / ".rbenv/versions/3.3.0/bin/ruby")
    (project / ".ruby-version").write_text("3.3.0")
    assert resolve(home / ".rbenv/shims/ruby", project, home, {})[0] == (target,)


@pytest.mark.parametrize("root", [".asdf", ".local/share/mise"])
@pytest.mark.parametrize(
    ("pinned", "expected"),
    [("nodejs 18.1.0 # old\n", "18.1.0"), ("ruby 3.3.0\nnodejs 18\n", "18.1.0"), ("", "22.0.0")],
)
def test_asdf_and_mise_read_tool_versions(root, pinned, expected, home, project):
    shim = executable(home / root / "shims/node")
    for version in ("18.1.0", "9.0.0", "22.0.0"):
        executable(home / root / "installs/nodejs" / version / "bin/node")
    (project / ".tool-versions").write_text(pinned)
    assert versions(resolve(shim, project, home, {})) == [expected]


@pytest.fixture
def rustup(home: Path) -> Path:
    proxy = executable(home / ".cargo/bin/rustup").with_name("rustc")
    proxy.symlink_to("rustup")
    for name in ("stable-x86_64-unknown-linux-gnu", "nightly-x86_64-unknown-linux-gnu"):
        executable(home / ".rustup/toolchains" / name / "bin/rustc")
    settings = 'version = "12"\ndefault_toolchain = "stable-x86_64-unknown-linux-gnu"\n'
    (home / ".rustup/settings.toml").write_text(settings)
    return proxy


@pytest.mark.parametrize(
    "case",
    [
        (None, "", {}, "stable"),
        ("rust-toolchain", "nightly\n", {}, "nightly"),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "nightly"\n', {}, "nightly"),
        ("rust-toolchain", "nightly\n", {"RUSTUP_TOOLCHAIN": "stable"}, "stable"),
        ("rust-toolchain.toml", "not toml [", {}, "stable"),
    ],
)
def test_a_rustup_proxy_leads_to_the_toolchain(case, rustup, home, project):
    file, text, environ, expected = case
    if file:
        (project / file).write_text(text)
    (target,) = resolve(rustup, project, home, environ)[0]
    assert target.parts[-3:] == (f"{expected}-x86_64-unknown-linux-gnu", "bin", "rustc")


def test_a_rustup_without_a_toolchain_stays_to_say_so_itself(home):
    proxy = executable(home / ".cargo/bin/rustup").with_name("rustc")
    proxy.symlink_to("rustup")
    assert resolve(proxy, None, home, {})[0] == (proxy,)


@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_what_is_no_file_names_no_version_and_is_not_waited_for(pyenv, project, home, target):
    os.mkfifo(project / "pipe")
    (project / ".python-version").symlink_to(target)
    without = versions(resolve(pyenv / "shims/python3", None, home, {}))
    assert versions(resolve(pyenv / "shims/python3", project, home, {})) == without
    (project / ".python-version").unlink()
    (project / ".python-version").write_text("3.9.18\n")  # the control
    assert versions(resolve(pyenv / "shims/python3", project, home, {}))[0] == "3.9.18"


@pytest.mark.parametrize("version", ["{app}", "../../app", "3.9.18/../../../app"])
def test_a_project_names_no_version_that_is_a_path_to_elsewhere(version, pyenv, home, project):
    """The control is a version's own folder of environments, which has a slash, too."""
    executable(home / "app/bin/python3")
    inner = executable(pyenv / "versions/3.9.18/envs/own/bin/python3")
    (project / ".python-version").write_text("3.9.18/envs/own")
    assert resolve(pyenv / "shims/python3", project, home, {})[0] == (inner,)
    (project / ".python-version").write_text(version.format(app=home / "app"))
    shim = resolve(pyenv / "shims/python3", project, home, {})
    assert (shim[0], "has no python3" in shim[2]) == ((), True)


@pytest.mark.parametrize("channel", ["{app}", "../../app"])
def test_a_project_names_no_toolchain_that_is_a_path_to_elsewhere(channel, rustup, home, project):
    executable(home / "app/bin/rustc")
    (project / "rust-toolchain").write_text(channel.format(app=home / "app"))
    assert resolve(rustup, project, home, {})[0] == (rustup,)
