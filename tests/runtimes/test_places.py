"""A sandbox is shown a toolchain, and not the folder of secrets that it lies in."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.places import binds_for


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def at(home, path):
    full = home / path
    full.parent.mkdir(parents=True, exist_ok=True)
    full.touch()
    return full


@pytest.mark.parametrize(
    ("path", "bound"),
    [
        (".pyenv/versions/3.11.7/bin/python3", [".pyenv/versions/3.11.7"]),
        (".nvm/versions/node/v22.1.0/bin/node", [".nvm/versions/node/v22.1.0"]),
        (".asdf/installs/ruby/3.3.0/bin/ruby", [".asdf/installs/ruby/3.3.0"]),
        (".local/share/mise/installs/node/22/bin/node", [".local/share/mise/installs/node/22"]),
        (".local/share/uv/python/cpython-3.13/bin/python", [".local/share/uv/python/cpython-3.13"]),
        (".rustup/toolchains/stable/bin/rustc", [".rustup/toolchains/stable"]),
        (".bun/bin/bun", [".bun/bin"]),
        (".deno/bin/deno", [".deno/bin"]),
        (".local/bin/lua", [".local/bin/lua"]),
        (".config/tools/bin/lua", [".config/tools/bin/lua"]),
        ("bin/lua", ["bin/lua"]),
        ("tools/lua", ["tools/lua"]),
    ],
)
def test_a_toolchain_in_a_home_is_bound_narrowly(path, bound, home):
    assert binds_for(at(home, path), home) == tuple(str(home / b) for b in bound)


def test_a_cargo_home_is_never_bound_whole(home):
    at(home, ".cargo/credentials.toml")
    at(home, ".rustup/settings.toml")
    at(home, ".rustup/toolchains/stable/bin/rustc")
    binds = binds_for(at(home, ".cargo/bin/rustc"), home)
    expected = (".cargo/bin", ".rustup/toolchains", ".rustup/settings.toml")
    assert binds == tuple(str(home / bind) for bind in expected)


def test_an_unknown_place_is_bound_whole_only_if_it_is_one_installation(home):
    alone = at(home, "node-v22/bin/node")
    assert binds_for(alone, home) == (str(alone),)
    (home / "node-v22/lib").mkdir()
    assert binds_for(alone, home) == (str(home / "node-v22"),)


@pytest.mark.parametrize("folder", ["", ".local", ".config"])
def test_folders_that_programs_share_are_never_bound(folder, home):
    (home / folder / "lib").mkdir(parents=True)
    path = at(home, f"{folder}/bin/node" if folder else "bin/node")
    assert binds_for(path, home) == (str(path),)


def test_what_lies_above_the_home_is_never_bound(home):
    path = home.parent / "bin/node"
    path.parent.mkdir()
    (home.parent / "lib").mkdir()
    path.touch()
    assert binds_for(path, home) == (str(path),)


@pytest.mark.parametrize("path", ["/usr/bin/node", "/usr/local/bin/node", "/bin/sh"])
def test_the_systems_own_trees_need_no_bind(path, home):
    assert binds_for(Path(path), home) == ()
