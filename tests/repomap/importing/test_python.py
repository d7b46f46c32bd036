from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make

REPOSITORY = make(
    """
    src/app/__init__.py src/app/a.py src/app/logging.py src/app/sub/__init__.py src/app/sub/b.py
    src/app/sub/deep/__init__.py src/app/sub/deep/c.py src/app/typed.pyi
    src/app/both.py src/app/both/__init__.py
    services/one/pkg_one/__init__.py services/one/pkg_one/m.py services/one/tests/test_m.py
    services/two/src/pkg_two/__init__.py services/two/src/pkg_two/n.py
    ns/part/x.py ns/other/y.py
    tools/run.py tools/helper.py tools/json.py
    x/dup/__init__.py x/dup/d.py y/dup/__init__.py y/dup/d.py x/use.py z/use.py
    top.py conftest.py
    """
)

CASES = [
    # Levels.
    ("src/app/a.py", "app.sub", (), "src/app/sub/__init__.py"),
    ("src/app/a.py", ".sub", ("b",), "src/app/sub/__init__.py src/app/sub/b.py"),
    ("src/app/a.py", ".", ("a", "nothing"), "src/app/__init__.py src/app/a.py"),
    ("src/app/sub/b.py", "..a", ("f",), "src/app/a.py"),
    ("src/app/sub/b.py", "..", ("a",), "src/app/__init__.py src/app/a.py"),
    ("src/app/sub/__init__.py", ".b", (), "src/app/sub/b.py"),
    ("src/app/sub/deep/c.py", "...a", (), "src/app/a.py"),
    ("src/app/sub/b.py", ".....top", (), ""),
    ("src/app/sub/b.py", "....top", (), "top.py"),
    ("src/app/sub/b.py", ".." * 50 + "top", (), ""),
    ("top.py", ".conftest", (), "conftest.py"),
    ("top.py", ".", ("conftest",), "conftest.py"),
    # Absolute names.
    ("src/app/sub/b.py", "app.a", (), "src/app/a.py"),
    ("src/app/a.py", "app.typed", (), "src/app/typed.pyi"),
    ("src/app/a.py", "app.both", (), "src/app/both/__init__.py"),
    ("src/app/a.py", "app.a", ("sub",), "src/app/a.py"),
    ("tools/run.py", "app.sub", ("b",), "src/app/sub/__init__.py src/app/sub/b.py"),
    ("tools/run.py", "helper", (), "tools/helper.py"),
    ("tools/run.py", "conftest", (), "conftest.py"),
    # Source folders by where packages lie.
    ("services/one/tests/test_m.py", "pkg_one.m", (), "services/one/pkg_one/m.py"),
    ("services/one/tests/test_m.py", "pkg_two.n", (), "services/two/src/pkg_two/n.py"),
    ("top.py", "pkg_one", ("m",), "services/one/pkg_one/__init__.py services/one/pkg_one/m.py"),
    # Several packages of one name: the nearest.
    ("x/use.py", "dup.d", (), "x/dup/d.py"),
    ("z/use.py", "dup.d", (), ""),
    # Packages without __init__.py.
    ("top.py", "ns.part.x", (), "ns/part/x.py"),
    ("top.py", "ns.part", ("x",), "ns/part/x.py"),
    ("ns/part/x.py", "ns.other", ("y", "z"), "ns/other/y.py"),
    # The standard library, and what hides it.
    ("src/app/a.py", "logging", (), ""),
    ("tools/run.py", "json", (), "tools/json.py"),
    ("src/app/a.py", "json", (), ""),
    ("src/app/a.py", "os.path", (), ""),
    # What leads nowhere.
    ("tools/run.py", "requests", ("get",), ""),
    ("tools/run.py", "a..b", (), ""),
    ("tools/run.py", "...", (), ""),
    ("tools/run.py", "\udc80", (), ""),
    ("tools/run.py", "a" * 5000, (), ""),
]


@pytest.mark.parametrize(("path", "module", "names", "wanted"), CASES)
def test_an_import_means_these_files(path, module, names, wanted):
    assert find(REPOSITORY, "python", path, module, names) == wanted
