from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make

CONFIGS = {
    "go.mod": "// the whole\nmodule example.org/m // here\n\ngo 1.22\n"
    "replace example.org/local => ./third/local\n"
    "replace (\n\texample.org/v v1.2.3 => ./third/v // old\n\tgone.org/x => ../outside\n"
    "\tother.org/x => newer.org/x v1.0.0\n)\n",
    "tools/go.mod": 'module "example.org/m/tools"\n',
    "sub/go.mod": "module (\n\texample.org/sub\n)\n",
    "third/local/go.mod": "module example.org/local\n",
}
REPOSITORY = make(
    """
    main.go pkg/q/q.go pkg/q/q_test.go pkg/q/r.go pkg/q/deep/d.go pkg/empty/x_test.go
    tools/t.go tools/gen/g.go sub/s.go sub/in/i.go third/local/l.go third/local/sub/s.go
    third/v/v.go vendor/other.org/x/x.go
    """,
    CONFIGS,
)

CASES = [
    ("main.go", "example.org/m/pkg/q", "pkg/q/q.go pkg/q/r.go"),
    ("pkg/q/q.go", "example.org/m", "main.go"),
    ("pkg/q/q_test.go", "example.org/m/pkg/q/deep", "pkg/q/deep/d.go"),
    ("main.go", "example.org/m/pkg/empty", ""),
    ("main.go", "example.org/m/none", ""),
    ("main.go", "example.org/mm/pkg/q", ""),
    # A module within the folder of another, and one beside it.
    ("tools/t.go", "example.org/m/tools/gen", "tools/gen/g.go"),
    ("tools/t.go", "example.org/m/pkg/q", "pkg/q/q.go pkg/q/r.go"),
    ("main.go", "example.org/m/tools", "tools/t.go"),
    ("main.go", "example.org/sub/in", "sub/in/i.go"),
    # Replaced by a folder.
    ("main.go", "example.org/local", "third/local/l.go"),
    ("main.go", "example.org/local/sub", "third/local/sub/s.go"),
    ("main.go", "example.org/v", "third/v/v.go"),
    ("sub/s.go", "example.org/v", ""),
    ("main.go", "gone.org/x", ""),
    ("main.go", "other.org/x", "vendor/other.org/x/x.go"),
    ("main.go", "fmt", ""),
    ("main.go", "C", ""),
    ("main.go", "../..", ""),
    ("main.go", "/", ""),
]


@pytest.mark.parametrize(("path", "module", "wanted"), CASES)
def test_an_import_means_the_files_of_a_package(path, module, wanted):
    assert find(REPOSITORY, "go", path, module) == wanted


@pytest.mark.parametrize(
    "config",
    [b"", b"module", b"module\n(\n", b"\xff\xfe", b"replace =>\nreplace a =>\n=> b", b"(\n" * 9000],
    ids=range(6),
)
def test_a_hostile_go_mod_costs_only_itself(config):
    repository = make("x/a.go x/p/p.go", {"x/go.mod": config, "go.mod": "module m\n"})
    assert find(repository, "go", "x/a.go", "x/p") == ""
    assert find(repository, "go", "x/a.go", "m/x/p") == "x/p/p.go"


def test_without_a_module_nothing_is_known():
    assert find(make("a.go p/p.go"), "go", "a.go", "p") == ""
