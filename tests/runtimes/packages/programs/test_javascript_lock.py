"""Locks of npm, pnpm, yarn and bun that leave something open are refused."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from runtimes.packages.tools import NPM, find_tool
from tests.needs import needs

PROGRAM = Path(__file__).parents[4] / "runtimes/languages/javascript/packages/lock.js"
pytestmark = needs("node", "npm")

DIGEST = f"sha512-{'A' * 86}=="
SUM = "0" * 128


def of_pnpm(entry, *, importer=".", more=""):
    return (
        f"lockfileVersion: '9.0'\n\nimporters:\n\n  {importer}:\n    dependencies:\n\npackages:\n"
        f"\n  '@a/b@1.0.0':\n{entry}    engines: {{node: '>=8'}}\n\nsnapshots:\n\n  a@1.0.0: {{}}\n"
        f"{more}"
    )


def of_yarn(*lines):
    return "# yarn lockfile v1\n\n\n" + "".join(f"{line}\n" for line in ("a@^1:", *lines))


def of_berry(resolution, *lines):
    entry = "".join(f"  {line}\n" for line in (f'resolution: "{resolution}"', *lines))
    return f'__metadata:\n  version: 8\n\n"a@npm:^1":\n  version: 1.0.0\n{entry}'


def of_bun(entry, folder=""):
    return f'{{"workspaces": {{"{folder}": {{}}}}, "packages": {{"a": {json.dumps(entry)},}},}}'


def of_npm(at="node_modules/a", **entry):
    return json.dumps({"lockfileVersion": 3, "packages": {"": {}, at: entry}})


def of_npm_bundle(by):
    bundle = {"node_modules/a": {"integrity": DIGEST, **by, "dependencies": {"b": "1"}}}
    within = {"node_modules/a/node_modules/b": {"inBundle": True}}
    return json.dumps({"lockfileVersion": 3, "packages": {"": {}} | bundle | within})


OUTSIDE = {
    "above the project": "../x",
    "above the project, from node_modules": "node_modules/../../x",
    "beside node_modules": "node_modules/../x",
    "from the root": "/abs",
    "from the root, of such a name": "/node_modules/x",
    "by a backslash": "node_modules/..\\..\\x",
    "a backslash": "node_modules/a\\b",
    "a NUL": "node_modules/a\0",
    "a line feed": "node_modules/a\nb",
    "a folder itself": "node_modules/..",
    "a folder of it": "node_modules/.",
    "by way of another": "node_modules/a/../b",
    "no name": "node_modules/",
    "no name between": "node_modules//a",
    "in a folder of the project": "packages/p/node_modules/x",
    "above, of such a name": "../node_modules/x",
    "below one that is not there": "node_modules/a/b",
}


RESOLVED = '  resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#12"'
PINNED = f"    resolution: {{integrity: {DIGEST}}}\n"
GIT = "    resolution: {commit: 12, repo: https://x.example/a.git, type: git}\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("package-lock.json", of_npm(integrity=DIGEST), ""),
        ("package-lock.json", of_npm(inBundle=True), "no digest"),
        ("package-lock.json", of_npm_bundle({"bundleDependencies": ["b"]}), ""),
        ("package-lock.json", of_npm_bundle({}), "no digest"),
        ("package-lock.json", of_npm(resolved="git+ssh://x/a"), "no digest"),
        ("package-lock.json", of_npm(link=True, integrity=DIGEST), "no digest"),
        ("package-lock.json", of_npm("packages/a"), "folder of the project"),
        ("package-lock.json", '{"lockfileVersion": 1}', "npm before 7"),
        ("package-lock.json", "{", "damaged"),
        ("npm-shrinkwrap.json", of_npm(), "no digest"),
        ("pnpm-lock.yaml", of_pnpm(PINNED), ""),
        ("pnpm-lock.yaml", of_pnpm(PINNED.replace("}", ", tarball: https://x/a.tgz}")), ""),
        ("pnpm-lock.yaml", of_pnpm(""), "'@a/b@1.0.0' has no digest"),
        ("pnpm-lock.yaml", of_pnpm(GIT), "has no digest"),
        ("pnpm-lock.yaml", of_pnpm("    resolution:\n      integrity: x\n"), "has no digest"),
        ("pnpm-lock.yaml", of_pnpm(PINNED + GIT), "has no digest"),
        ("pnpm-lock.yaml", of_pnpm(PINNED, importer="packages/a"), "folder of the project"),
        ("pnpm-lock.yaml", of_pnpm(PINNED, more="patchedDependencies:\n  a: x\n"), "patched"),
        ("pnpm-lock.yaml", of_pnpm(PINNED, more="'packages':\n  a: x\n"), "not known"),
        ("pnpm-lock.yaml", of_pnpm(PINNED, more="packages:\n  b: x\n"), "not known"),
        ("pnpm-lock.yaml", f"---\n{of_pnpm(GIT)}---\n{of_pnpm(PINNED)}", ""),
        ("pnpm-lock.yaml", f"---\n{of_pnpm(PINNED)}---\n{of_pnpm(GIT)}", "has no digest"),
        (
            "pnpm-lock.yaml",
            f"---\n{of_pnpm('', importer='configDependencies')}---\n{of_pnpm(PINNED)}",
            "configDependencies",
        ),
        ("yarn.lock", of_yarn(RESOLVED, f"  integrity {DIGEST}"), ""),
        ("yarn.lock", of_yarn(RESOLVED), "a@^1 has no digest"),
        ("yarn.lock", of_yarn('  resolved "git+ssh://x/a"', f"  integrity {DIGEST}"), "no digest"),
        ("yarn.lock", of_yarn(f"  integrity {DIGEST}"), "no digest"),
        ("yarn.lock", of_berry("a@npm:1.0.0", f"checksum: 10c0/{SUM}"), ""),
        ("yarn.lock", of_berry("@a/b@npm:1.0.0", "conditions: os=aix"), ""),
        ("yarn.lock", of_berry("p@workspace:."), ""),
        ("yarn.lock", of_berry("p@workspace:packages/p"), "of no registry"),
        ("yarn.lock", of_berry("a@npm:1.0.0"), "has no digest"),
        ("yarn.lock", of_berry("a@https://x/a.git#commit=1", f"checksum: {SUM}"), "no registry"),
        ("yarn.lock", of_berry("a@patch:a@npm%3A1#x", f"checksum: {SUM}"), "of no registry"),
        ("bun.lock", of_bun(["a@1.0.0", "", {}, DIGEST]), ""),
        ("bun.lock", of_bun(["a@1.0.0", "", {"x": ",}"}, DIGEST]), ""),
        ("bun.lock", of_bun(["a@1.0.0", "", {}, ""]), "a has no digest"),
        ("bun.lock", of_bun(["a@github:x/a#12", {}, "x-a-12"]), "no digest"),
        ("bun.lock", of_bun(["a@git+https://x/a#12", "", {}, DIGEST]), "no digest"),
        ("bun.lock", of_bun(["a@workspace:packages/a"]), "no digest"),
        ("bun.lock", of_bun(["a@1.0.0", "", {}, DIGEST], "packages/a"), "folder of the project"),
    ],
)
def test_a_lock_that_leaves_something_open_is_refused(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    (code, said) = check(tmp_path)
    assert words in said
    assert (code, said == "") == ((1, False) if words else (0, True))


PLACES = ("not a place in node_modules", "folder of the project", "is of no registry", "outside")


@pytest.mark.parametrize("at", OUTSIDE.values(), ids=OUTSIDE)
def test_a_key_that_leaves_node_modules_is_refused(tmp_path, at):
    (tmp_path / "package-lock.json").write_text(of_npm(at, integrity=DIGEST))
    code, said = check(tmp_path)
    assert code == 1
    assert any(words in said for words in PLACES), said


@pytest.mark.parametrize("name", ["node_modules/@s/a", "node_modules/A.b_c~d", "node_modules/-"])
def test_a_key_within_node_modules_is_taken(tmp_path, name):
    (tmp_path / "package-lock.json").write_text(of_npm(name, integrity=DIGEST))
    assert check(tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pnpm-lock.yaml", of_pnpm(PINNED).replace("@a/b@1.0.0", "../../x@1.0.0")),
        ("pnpm-lock.yaml", of_pnpm(PINNED + "    name: ../x\n")),
        ("pnpm-lock.yaml", of_pnpm(PINNED + "    dependencies: {'@s/../../x': 1.0.0}\n")),
        ("pnpm-lock.yaml", of_pnpm(PINNED + '    name: "\\x2e./x"\n')),
        ("yarn.lock", of_yarn(RESOLVED, f"  integrity {DIGEST}").replace("a@^1", '"../x@^1"')),
        ("yarn.lock", of_berry("../../x@npm:1.0.0", f"checksum: 10c0/{SUM}")),
        ("yarn.lock", of_berry("@s/..@npm:1.0.0", f"checksum: 10c0/{SUM}")),
        ("bun.lock", of_bun(["a@1.0.0", "", {}, DIGEST]).replace('"a"', '"../../a"')),
        ("bun.lock", of_bun(["../a@1.0.0", "", {}, DIGEST])),
    ],
)
def test_a_name_that_leaves_node_modules_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    code, said = check(tmp_path)
    assert code == 1
    assert any(words in said for words in PLACES), said


def test_what_names_another_client_is_gone_afterwards(tmp_path):
    needs = {"name": "p", "dependencies": {"a": "1"}}
    engines = {"packageManager": {"name": "pnpm", "onFail": "download"}}
    every = {**needs, "packageManager": "pnpm@9.0.0", "devEngines": engines}
    (tmp_path / "package.json").write_text(json.dumps(every))
    own = of_pnpm(PINNED, importer=".")
    (tmp_path / "pnpm-lock.yaml").write_text(f"---\n{of_pnpm(PINNED)}pnpm@9.0.0\n---\n{own}")
    assert check(tmp_path) == (0, "")
    assert json.loads((tmp_path / "package.json").read_text()) == needs
    assert (tmp_path / "pnpm-lock.yaml").read_text() == own


def check(folder):
    """What the program ends with for a folder, and what it says."""
    command = ["node", str(PROGRAM), str(folder)]
    env = {**os.environ, "NPM": find_tool(NPM)[0]}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)
    return ran.returncode, ran.stderr
