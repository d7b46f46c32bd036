from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make

CONFIGS = {
    "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n[package]\nname = "the-app" # here\n',
    "crates/my-core/Cargo.toml": '[package]\nname = "my-core"\nversion.workspace = true\n',
    "crates/odd/Cargo.toml": "[package]\nname = 'odd-package'\n[lib]\nname = \"odd\"\n"
    'path = "source/entry.rs"\n',
}
REPOSITORY = make(
    """
    src/lib.rs src/main.rs src/a.rs src/a/inner.rs src/a/inner/leaf.rs src/b/mod.rs src/b/c.rs
    src/bin/tool.rs src/bin/help.rs tests/it.rs tests/common/mod.rs build.rs build_help.rs
    crates/my-core/src/lib.rs crates/my-core/src/store.rs crates/my-core/src/deep/mod.rs
    crates/my-core/src/deep/more.rs crates/odd/source/entry.rs crates/odd/source/part.rs
    """,
    CONFIGS,
)

MODULES = [
    ("src/lib.rs", "a", "src/a.rs"),
    ("src/lib.rs", "b", "src/b/mod.rs"),
    ("src/main.rs", "a", "src/a.rs"),
    ("src/a.rs", "inner", "src/a/inner.rs"),
    ("src/a/inner.rs", "leaf", "src/a/inner/leaf.rs"),
    ("src/b/mod.rs", "c", "src/b/c.rs"),
    ("src/b/c.rs", "a", ""),
    ("src/bin/tool.rs", "help", "src/bin/help.rs"),
    ("tests/it.rs", "common", "tests/common/mod.rs"),
    ("build.rs", "build_help", "build_help.rs"),
    ("src/lib.rs", "none", ""),
]
USES = [
    ("src/a.rs", "crate::b::c::F", "src/b/c.rs"),
    ("src/a.rs", "crate::b", "src/b/mod.rs"),
    ("src/a.rs", "crate::a::inner::*", "src/a/inner.rs"),
    ("src/a/inner/leaf.rs", "crate::Config", "src/lib.rs"),
    ("src/a.rs", "crate::{b::c, a::{self, inner::{X as Y, leaf}}}",
     "src/a.rs src/a/inner.rs src/a/inner/leaf.rs src/b/c.rs"),
    ("src/a.rs", "{crate::b::c, std::io}", "src/b/c.rs"),
    ("src/b/mod.rs", "self::c", "src/b/c.rs"),
    ("src/b/mod.rs", "self::{c::X}", "src/b/c.rs"),
    ("src/b/c.rs", "super::Thing", "src/b/mod.rs"),
    ("src/b/c.rs", "super::super::a::X", "src/a.rs"),
    ("src/a/inner.rs", "super::X", "src/a.rs"),
    ("src/a/inner/leaf.rs", "super::super::*", "src/a.rs"),
    ("src/a.rs", "super::b", "src/b/mod.rs"),
    ("src/a.rs", "super::super::super::x", ""),
    ("src/a.rs", "super", "src/lib.rs"),
    ("src/lib.rs", "b::c::F", "src/b/c.rs"),
    # Other crates of the repository.
    ("src/a.rs", "my_core::store::Store", "crates/my-core/src/store.rs"),
    ("src/a.rs", "my_core::Error", "crates/my-core/src/lib.rs"),
    ("src/a.rs", "my_core", "crates/my-core/src/lib.rs"),
    ("src/a.rs", "my_core::deep::{more::A, B}",
     "crates/my-core/src/deep/mod.rs crates/my-core/src/deep/more.rs"),
    ("tests/it.rs", "the_app::b::c", "src/b/c.rs"),
    ("src/a.rs", "odd::part::X", "crates/odd/source/part.rs"),
    ("src/a.rs", "odd_package::part::X", ""),
    ("crates/my-core/src/store.rs", "crate::deep::more", "crates/my-core/src/deep/more.rs"),
    ("src/b/c.rs", "std::io", ""),
    ("src/b/c.rs", "::std::io", ""),
    # What was cut, or is no path.
    ("src/a.rs", "crate::b::{c, d", "src/b/c.rs src/b/mod.rs"),
    ("src/a.rs", "*", ""),
    ("src/a.rs", "}{,}{{", ""),
    ("src/a.rs", "{" * 900, ""),
    ("src/a.rs", "::" * 400, ""),
    ("src/a.rs", "super::" * 140, ""),
]  # fmt: skip


@pytest.mark.parametrize(("path", "module", "wanted"), MODULES)
def test_a_module_lies_by_the_place_of_its_file(path, module, wanted):
    assert find(REPOSITORY, "rust", path, module, (), "mod") == wanted


@pytest.mark.parametrize(("path", "module", "wanted"), USES)
def test_a_use_means_the_files_of_what_it_takes(path, module, wanted):
    assert find(REPOSITORY, "rust", path, module, (), "use") == wanted


def test_names_are_taken_from_the_module():
    wanted = "src/b/c.rs src/b/mod.rs"
    assert find(REPOSITORY, "rust", "src/a.rs", "crate::b", ("c", "X"), "use") == wanted
