from __future__ import annotations

import pytest

from repomap.importing import Resolver
from repomap.model import Import

_PATHS = """
src/app/__init__.py src/app/a.py src/app/sub/__init__.py src/app/sub/b.py tools/run.py
tools/helper.py web/index.ts web/lib/x.ts web/lib/index.js web/comp.tsx web/data.json
go/cmd/main.go go/pkg/q/q.go go/pkg/q/q_test.go go/pkg/q/r.go
rs/src/lib.rs rs/src/a.rs rs/src/b/mod.rs rs/src/b/c.rs
c/main.c c/x.h c/include/lib/y.h java/src/p/q/C.java java/src/p/D.java
rb/lib/m.rb rb/lib/m/n.rb
"""
FILES: dict[str, bytes] = dict.fromkeys(_PATHS.split(), b"")
FILES |= {
    "web/tsconfig.json": b'{ // c\n "compilerOptions": {"baseUrl": ".",'
    b' "paths": {"@/*": ["lib/*"],},},}',
    "go/go.mod": b"module example.org/m\n\ngo 1.22\n",
}

CASES = [
    (
        "src/app/a.py",
        "python",
        Import(".sub", ("b",)),
        ("src/app/sub/__init__.py", "src/app/sub/b.py"),
    ),
    ("src/app/sub/b.py", "python", Import("..a", ("f",)), ("src/app/a.py",)),
    ("src/app/sub/b.py", "python", Import("app.a"), ("src/app/a.py",)),
    ("src/app/a.py", "python", Import("app"), ("src/app/__init__.py",)),
    ("tools/run.py", "python", Import("helper"), ("tools/helper.py",)),
    ("tools/run.py", "python", Import("os.path"), ()),
    ("tools/run.py", "python", Import("......x"), ()),
    ("web/index.ts", "typescript", Import("./lib/x"), ("web/lib/x.ts",)),
    ("web/index.ts", "typescript", Import("./lib/x.js"), ("web/lib/x.ts",)),
    ("web/index.ts", "typescript", Import("./lib"), ("web/lib/index.js",)),
    ("web/index.ts", "typescript", Import("./data.json"), ("web/data.json",)),
    ("web/index.ts", "typescript", Import("@/x"), ("web/lib/x.ts",)),
    ("web/lib/x.ts", "typescript", Import("comp"), ("web/comp.tsx",)),
    ("web/index.ts", "typescript", Import("../../../x"), ()),
    ("web/index.ts", "typescript", Import("react"), ()),
    ("go/cmd/main.go", "go", Import("example.org/m/pkg/q"), ("go/pkg/q/q.go", "go/pkg/q/r.go")),
    ("go/cmd/main.go", "go", Import("fmt"), ()),
    ("rs/src/lib.rs", "rust", Import("a", (), "mod"), ("rs/src/a.rs",)),
    ("rs/src/lib.rs", "rust", Import("b", (), "mod"), ("rs/src/b/mod.rs",)),
    ("rs/src/a.rs", "rust", Import("crate::b::c::F", (), "use"), ("rs/src/b/c.rs",)),
    ("rs/src/b/mod.rs", "rust", Import("self::c", (), "use"), ("rs/src/b/c.rs",)),
    ("rs/src/b/c.rs", "rust", Import("std::io", (), "use"), ()),
    ("c/main.c", "c", Import("x.h", (), "quoted"), ("c/x.h",)),
    ("c/main.c", "c", Import("lib/y.h", (), "angled"), ("c/include/lib/y.h",)),
    ("c/main.c", "c", Import("x.h", (), "angled"), ()),
    ("java/src/p/D.java", "java", Import("p.q.C"), ("java/src/p/q/C.java",)),
    ("java/src/p/D.java", "java", Import("p.q.C.INNER"), ("java/src/p/q/C.java",)),
    ("rb/lib/m.rb", "ruby", Import("m/n", (), "relative"), ("rb/lib/m/n.rb",)),
    ("rb/lib/m/n.rb", "ruby", Import("m"), ("rb/lib/m.rb",)),
    ("x.unknown", "cobol", Import("a"), ()),
    ("x", None, Import("a"), ()),
]


@pytest.mark.parametrize(("path", "language", "one", "wanted"), CASES)
def test_an_import_means_these_files(path, language, one, wanted):
    assert Resolver(FILES, FILES.get).resolve(path, language, one) == wanted


HOSTILE = [
    b"",
    b"[]",
    b"{",
    b"[" * 5000,
    b'{"compilerOptions": 3}',
    b"\xff",
    b'{"compilerOptions": {"baseUrl": 3, "paths": [1]}}',
    b'{"compilerOptions": {"baseUrl": "../..", "paths": {"@/*": "x"}}}',
    b"/*" * 9000,
]


@pytest.mark.parametrize("config", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_configuration_costs_only_itself(config):
    files = {**FILES, "web/tsconfig.json": config}
    resolver = Resolver(files, files.get)
    assert resolver.resolve("web/index.ts", "typescript", Import("@/x")) == ()
    assert resolver.resolve("web/index.ts", "typescript", Import("./comp")) == ("web/comp.tsx",)
