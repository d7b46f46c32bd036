from __future__ import annotations

import json

import pytest

from tests.repomap.importing.repositories import find, make

PATHS = """
src/a.ts src/lib/x.ts src/lib/y/index.ts src/special.ts other/x.ts apps/web/src/main.ts
apps/web/src/ui/box.tsx shared/x.ts packages/base/z.ts
"""


def options(**compiler: object) -> str:
    return json.dumps({"compilerOptions": compiler})


def extending(target: object, **compiler: object) -> str:
    return json.dumps({"extends": target, "compilerOptions": compiler})


STAR = {"@/*": ["src/lib/*"]}
TABLE = [
    # configurations, importing file, module, wanted
    ({"tsconfig.json": options(paths=STAR)}, "src/a.ts", "@/x", "src/lib/x.ts"),
    ({"tsconfig.json": options(paths=STAR)}, "src/a.ts", "@/y", "src/lib/y/index.ts"),
    ({"tsconfig.json": options(paths=STAR)}, "src/a.ts", "@/x.js", "src/lib/x.ts"),
    ({"tsconfig.json": options(paths=STAR)}, "src/a.ts", "@/none", ""),
    ({"tsconfig.json": options(paths=STAR)}, "src/a.ts", "@", ""),
    ({"jsconfig.json": options(paths=STAR)}, "src/a.ts", "@/x", "src/lib/x.ts"),
    ({"tsconfig.json": options(baseUrl="src")}, "src/a.ts", "lib/x", "src/lib/x.ts"),
    ({"tsconfig.json": options(baseUrl="./")}, "src/a.ts", "other/x", "other/x.ts"),
    ({"tsconfig.json": options(baseUrl="src", paths={"@/*": ["lib/*"]})}, "src/a.ts", "@/x",
     "src/lib/x.ts"),
    ({"tsconfig.json": options(paths={"@/*": ["none/*", "other/*"]})}, "src/a.ts", "@/x",
     "other/x.ts"),
    ({"tsconfig.json": options(paths={"one": ["src/special.ts"]})}, "src/a.ts", "one",
     "src/special.ts"),
    ({"tsconfig.json": options(paths={"one": ["src/special.ts"]})}, "src/a.ts", "one/x", ""),
    # The most exact pattern counts.
    ({"tsconfig.json": options(paths={"@/*": ["other/*"], "@/lib/*": ["src/lib/*"]})},
     "src/a.ts", "@/lib/x", "src/lib/x.ts"),
    ({"tsconfig.json": options(paths={"*": ["other/*"], "x": ["src/lib/x"]})}, "src/a.ts", "x",
     "src/lib/x.ts"),
    # The nearest configuration first, then those above.
    ({"tsconfig.json": options(paths=STAR),
      "apps/web/tsconfig.json": options(paths={"@/*": ["src/ui/*"]})},
     "apps/web/src/main.ts", "@/box", "apps/web/src/ui/box.tsx"),
    ({"tsconfig.base.json": options(paths={"base/*": ["packages/base/*"]}),
      "apps/web/tsconfig.json": options(paths={"@/*": ["src/ui/*"]})},
     "apps/web/src/main.ts", "base/z", "packages/base/z.ts"),
    ({"apps/web/tsconfig.json": '{"files": [], "references": []}',
      "apps/web/tsconfig.app.json": options(paths={"@/*": ["./src/ui/*"]})},
     "apps/web/src/main.ts", "@/box", "apps/web/src/ui/box.tsx"),
    # What a configuration extends.
    ({"apps/web/tsconfig.json": extending("../../base.json"),
      "base.json": options(paths={"@/*": ["shared/*"]})},
     "apps/web/src/main.ts", "@/x", "shared/x.ts"),
    ({"apps/web/tsconfig.json": extending("../../base"),
      "base.json": options(baseUrl="shared")},
     "apps/web/src/main.ts", "x", "shared/x.ts"),
    ({"apps/web/tsconfig.json": extending(["../../one.json", "../../two.json"]),
      "one.json": options(baseUrl="other"), "two.json": options(baseUrl="shared")},
     "apps/web/src/main.ts", "x", "shared/x.ts"),
    ({"apps/web/tsconfig.json": extending("../../base.json", baseUrl="../../other"),
      "base.json": options(baseUrl="shared")},
     "apps/web/src/main.ts", "x", "other/x.ts"),
    ({"tsconfig.json": extending("./tsconfig.json", baseUrl="src")}, "src/a.ts", "lib/x",
     "src/lib/x.ts"),
    ({"tsconfig.json": extending("./b.json"),
      "b.json": extending("./tsconfig.json", baseUrl="src")},
     "src/a.ts", "lib/x", "src/lib/x.ts"),
    ({"tsconfig.json": extending("../../../etc/x", baseUrl="src")}, "src/a.ts", "lib/x",
     "src/lib/x.ts"),
    ({"tsconfig.json": extending("@tsconfig/node20/tsconfig.json", baseUrl="src")}, "src/a.ts",
     "lib/x", "src/lib/x.ts"),
    ({"tsconfig.json": extending(7, baseUrl="src")}, "src/a.ts", "lib/x", "src/lib/x.ts"),
    # Comments, commas too many, a mark at the beginning.
    ({"tsconfig.json": '\ufeff{ // c\n "compilerOptions": {/* , } */"baseUrl": "src",},}'},
     "src/a.ts", "lib/x", "src/lib/x.ts"),
]  # fmt: skip


@pytest.mark.parametrize(("configs", "path", "module", "wanted"), TABLE)
def test_a_configuration_says_what_a_name_means(configs, path, module, wanted):
    assert find(make(PATHS, configs), "typescript", path, module) == wanted


HOSTILE: list[str | bytes] = [
    "",
    "[]",
    "3",
    "{",
    "[" * 200_000,
    '{"a":' * 50_000,
    '{"compilerOptions": 3}',
    b"\xff\xfe\x00",
    '{"compilerOptions": {"baseUrl": 3, "paths": [1]}}',
    '{"compilerOptions": {"baseUrl": "../..", "paths": {"@/*": "x"}}}',
    '{"compilerOptions": {"paths": {"@/*": ["../../../*", 3, null, "/etc/*"]}}}',
    '{"compilerOptions": {"paths": {"*": ["*"], "**": ["**"], "": [""]}}}',
    '{"extends": {"a": 1}, "compilerOptions": null}',
    '{"extends": ["' + '", "'.join(["./x"] * 30_000) + '"]}',
    json.dumps({"compilerOptions": {"paths": {f"p{n}/*": ["x/*"] for n in range(10_000)}}}),
    "/*" * 120_000,
    '"' * 240_001,
    '"\\' * 120_000,
    "," * 240_000 + "}",
    "/" * 240_000,
    "9" * 200_000,
]


@pytest.mark.parametrize("config", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_configuration_costs_only_itself(config):
    repository = make(PATHS, {"tsconfig.json": config})
    for module in ("@/x", "x", "lib/x", "p1/x", "\udc80"):
        assert find(repository, "typescript", "src/a.ts", module) == ""
    assert find(repository, "typescript", "src/a.ts", "./lib/x") == "src/lib/x.ts"
