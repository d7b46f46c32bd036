from __future__ import annotations

import json

import pytest

from tests.repomap.importing.repositories import find, make

CONFIGS = {
    "package.json": json.dumps({"name": "root", "workspaces": ["packages/*"]}),
    "packages/ui/package.json": json.dumps(
        {
            "name": "@acme/ui",
            "main": "dist/index.js",
            "imports": {"#internal/*": "./src/internal/*.ts", "#one": {"node": "./src/one.ts"}},
        }
    ),
    "packages/core/package.json": json.dumps(
        {
            "name": "@acme/core",
            "exports": {
                ".": {"import": {"types": "./types.d.ts", "default": "./dist/x.js"}},
                "./parts/*": "./lib/parts/*.js",
                "./one": ["./none.js", "./lib/one.js"],
            },
        }
    ),
    "packages/plain/package.json": json.dumps({"name": "plain", "main": "./lib/start"}),
    "packages/z/package.json": json.dumps({"name": "plain"}),
}
REPOSITORY = make(
    """
    app/main.ts packages/ui/src/index.tsx packages/ui/src/button.tsx packages/ui/src/one.ts
    packages/ui/src/internal/a.ts packages/core/types.d.ts packages/core/lib/parts/p.ts
    packages/core/lib/one.js packages/core/src/two.ts packages/plain/lib/start.js
    packages/plain/lib/more.js
    """,
    CONFIGS,
)

CASES = [
    ("app/main.ts", "@acme/ui", "packages/ui/src/index.tsx"),
    ("app/main.ts", "@acme/ui/button", "packages/ui/src/button.tsx"),
    ("app/main.ts", "@acme/ui/src/one", "packages/ui/src/one.ts"),
    ("app/main.ts", "@acme/core", "packages/core/types.d.ts"),
    ("app/main.ts", "@acme/core/parts/p", "packages/core/lib/parts/p.ts"),
    ("app/main.ts", "@acme/core/one", "packages/core/lib/one.js"),
    ("app/main.ts", "@acme/core/two", "packages/core/src/two.ts"),
    ("app/main.ts", "plain", "packages/plain/lib/start.js"),
    ("app/main.ts", "plain/lib/more", "packages/plain/lib/more.js"),
    ("app/main.ts", "@acme", ""),
    ("app/main.ts", "@acme/none", ""),
    ("app/main.ts", "@acme/ui/../../app/main", ""),
    ("packages/ui/src/index.tsx", "#internal/a", "packages/ui/src/internal/a.ts"),
    ("packages/ui/src/index.tsx", "#one", "packages/ui/src/one.ts"),
    ("packages/ui/src/index.tsx", "#none", ""),
    ("app/main.ts", "#one", ""),
]


@pytest.mark.parametrize(("path", "module", "wanted"), CASES)
def test_a_package_of_the_repository_is_found_by_name(path, module, wanted):
    assert find(REPOSITORY, "typescript", path, module) == wanted


HOSTILE = [
    "[]",
    '{"name": 3}',
    '{"name": ""}',
    '{"name": "x", "exports": "../../../etc/passwd"}',
    '{"name": "x", "exports": {".": ' + "[" * 500 + "]" * 500 + "}}",
    '{"name": "x", "exports": {"./*": "./*", "*": "*", "": ""}, "main": ["a"], "imports": 3}',
    '{"name": "x", "imports": {"#*": {"a": {"b": {"c": null}}}}}',
    json.dumps({"name": "x", "exports": {f"./{n}*": "x" for n in range(10_000)}}),
]


@pytest.mark.parametrize("config", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_package_costs_only_itself(config):
    repository = make("a.ts b.ts x/c.ts", {"x/package.json": config})
    for module in ("x", "x/none", "#a", "#", "@", "@/", "x//"):
        assert find(repository, "typescript", "x/c.ts", module) == ""
    assert find(repository, "typescript", "a.ts", "./b") == "b.ts"
