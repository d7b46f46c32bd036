from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make


@pytest.mark.parametrize(
    "config",
    [
        b"",
        b"\xff",
        b'[package\nname = "x"',
        b'[package]\nname = x\nname="',
        b"[package]\nname = 3",
        b'[lib]\npath = "../../../../etc/passwd"\n[package]\nname = "x"',
        b"[" + b"a." * 100_000 + b"a]\n",
        b"a." * 100_000 + b'a = "x"\n',
        b"[" * 200_000,
        b"=" * 200_000,
        b'"' * 200_000,
    ],
    ids=range(11),
)
def test_a_hostile_cargo_file_costs_only_itself(config):
    good = b'[package]\nname = "good"\n'
    repository = make(
        "x/src/lib.rs good/src/lib.rs", {"x/Cargo.toml": config, "good/Cargo.toml": good}
    )
    for name, wanted in (("x::A", ""), ("good::A", "good/src/lib.rs")):
        assert find(repository, "rust", "x/src/lib.rs", name, (), "use") == wanted


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ('[package]\nname="a-b-c"\n', "a_b_c"),
        ("  [ package ]  # the crate\n  name  =  'a'  # it\n", "a"),
        ('[dependencies.other]\nname = "no"\n[package]\nname = "a"\n', "a"),
        ('[package]\nname = "a"\n[[bin]]\nname = "b"\n', "a"),
        ('[package]\nname = "a"\n[lib]\nname = "b"\n', "b"),
    ],
)
def test_a_crate_is_found_by_its_name(config, name):
    repository = make("x/src/lib.rs main.rs", {"x/Cargo.toml": config})
    assert find(repository, "rust", "main.rs", f"{name}::X", (), "use") == "x/src/lib.rs"
    assert find(repository, "rust", "main.rs", "no::X", (), "use") == ""
