"""Locks of pnpm, yarn and bun, as a run takes them, each by its own client."""

from __future__ import annotations

import json

import pytest

from executor import PackagesError
from executor.packages import model
from runtimes.packages.tools import find_tool
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.npm_registry import Registry
from tests.needs import need, needs

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

USE = 'import value from "alpha"; console.log(value);'
NEEDS = {"name": "p", "private": True, "dependencies": {"alpha": "^1.0.0"}}
NO_DIGEST = f"sha512-{'A' * 86}=="


@pytest.fixture
def registry(served):
    """One with a package that needs another, whose newer version the locks do not name."""
    made = Registry(served)
    files = {"index.js": 'module.exports = require("beta");\n'}
    made.add("alpha", files=files, requires={"beta": "^1.0.0"})
    for version in ("1.0.0", "1.1.0"):
        made.add("beta", version, {"index.js": f'module.exports = "beta {version}";\n'})
    return made


@pytest.fixture
async def engine(open_with, served):
    given = model.Registry(served.url, ("files.example.com",), private=True)
    async with open_with(
        allow=frozenset({"javascript"}), registries={"javascript": given}
    ) as opened:
        yield opened


def of_pnpm(digests):
    def entry(name):
        return f"  {name}@1.0.0:\n    resolution: {{integrity: {digests[name]}}}\n"

    return (
        "lockfileVersion: '9.0'\n\nsettings:\n  autoInstallPeers: true\n"
        "  excludeLinksFromLockfile: false\n\nimporters:\n\n  .:\n    dependencies:\n"
        "      alpha:\n        specifier: ^1.0.0\n        version: 1.0.0\n\n"
        f"packages:\n\n{entry('alpha')}\n{entry('beta')}\n"
        "snapshots:\n\n  alpha@1.0.0:\n    dependencies:\n      beta: 1.0.0\n\n  beta@1.0.0: {}\n"
    )


def of_yarn(digests):
    def entry(name):
        url = f"https://registry.yarnpkg.com/{name}/-/{name}-1.0.0.tgz"
        return (
            f'{name}@^1.0.0:\n  version "1.0.0"\n  resolved "{url}"\n  integrity {digests[name]}\n'
        )

    needs = '  dependencies:\n    beta "^1.0.0"\n'
    return f"# yarn lockfile v1\n\n\n{entry('alpha')}{needs}\n{entry('beta')}"


def of_bun(digests):
    about = {"name": "p", "dependencies": NEEDS["dependencies"]}
    alpha = ["alpha@1.0.0", "", {"dependencies": {"beta": "^1.0.0"}}, digests["alpha"]]
    packages = {"alpha": alpha, "beta": ["beta@1.0.0", "", {}, digests["beta"]]}
    lock = {"lockfileVersion": 1, "workspaces": {"": about}, "packages": packages}
    return json.dumps(lock, indent=2).replace("\n  }\n}", ",\n  }\n}")  # as bun ends lists


CLIENTS = [("pnpm", "pnpm-lock.yaml", of_pnpm), ("yarn", "yarn.lock", of_yarn)]
CLIENTS += [("bun", "bun.lock", of_bun)]


@pytest.fixture(params=CLIENTS, ids=[client for client, _, _ in CLIENTS])
def locked(request, project, registry):
    """The name of a lock, and what writes it with digests that may be wrong."""
    client, name, write = request.param
    need(client)
    known = registry.known

    def put(**changed):
        digests = {
            one: known[one]["versions"]["1.0.0"]["dist"]["integrity"] for one in ("alpha", "beta")
        }
        (project / "package.json").write_text(json.dumps(NEEDS))
        (project / name).write_text(write(digests | changed))
        return name

    return put


async def test_a_lock_is_installed_by_its_own_client(engine, served, locked):
    name = locked()
    first = await run_in(engine, "javascript", USE, name)
    assert (first.stdout.text, first.packages) == ("beta 1.0.0\n", "now")
    served.files.clear()
    second = await run_in(engine, "javascript", USE, name)
    assert (second.stdout.text, second.packages) == ("beta 1.0.0\n", "kept")


async def test_what_the_manifest_names_as_the_client_is_not_fetched(
    engine, served, project, locked
):
    name = locked()
    (project / "package.json").write_text(
        json.dumps(
            {**NEEDS, "packageManager": "yarn@4.1.0" if name == "yarn.lock" else "pnpm@9.0.0"}
        )
    )
    result = await run_in(engine, "javascript", USE, name)
    assert result.stdout.text == "beta 1.0.0\n"
    assert [path for path in served.asked if path.startswith(("/pnpm", "/yarn", "/@pnpm"))] == []


async def test_a_wrong_digest_is_refused(engine, kept, locked):
    with pytest.raises(PackagesError, match="not what the lock's digest says"):
        await run_in(engine, "javascript", USE, locked(beta=NO_DIGEST))
    assert left(kept) == []


async def test_a_lock_without_a_digest_is_refused_before_anything_is_fetched(
    engine, kept, served, locked
):
    with pytest.raises(PackagesError, match=r"beta.* has no digest in the lock"):
        await run_in(engine, "javascript", USE, locked(beta=""))
    assert (left(kept), served.asked) == ([], [])


async def test_a_lock_that_does_not_fit_its_manifest_is_refused(engine, project, locked):
    name = locked()
    (project / "package.json").write_text(json.dumps({**NEEDS, "dependencies": {"beta": "^1.1.0"}}))
    with pytest.raises(PackagesError, match=r"does not fit its package\.json"):
        await run_in(engine, "javascript", USE, name)


async def test_an_install_script_runs_in_the_build(engine, registry, locked):
    files = {"index.js": 'module.exports = require("./made.json");\n'}
    install = 'node -e \'require("fs").writeFileSync("made.json", "7")\''
    registry.add("beta", files=files, scripts={"postinstall": install})
    result = await run_in(engine, "javascript", USE, locked())
    assert result.stdout.text == "7\n"


async def test_a_lock_whose_client_is_missing_names_it(engine, project, monkeypatch, locked):
    name = locked()
    client = next(client for client, known, _ in CLIENTS if known == name)
    monkeypatch.setattr(
        "executor.packages.phases.find_tool",
        lambda tool: None if tool.name == client else find_tool(tool),
    )
    with pytest.raises(PackagesError, match=f"need {client}, which is not installed") as refused:
        await run_in(engine, "javascript", USE, name)
    assert "npm install -g" in refused.value.hint


@needs("yarn")
async def test_a_lock_of_another_yarn_names_the_one_it_takes(engine, project):
    digest = f"10c0/{'0' * 128}"
    (project / "package.json").write_text(json.dumps(NEEDS))
    (project / "yarn.lock").write_text(
        "__metadata:\n  version: 8\n  cacheKey: 10c0\n\n"
        f'"alpha@npm:^1.0.0":\n  version: 1.0.0\n  resolution: "alpha@npm:1.0.0"\n'
        f"  checksum: {digest}\n  languageName: node\n  linkType: hard\n"
    )
    with pytest.raises(PackagesError, match=r"of another yarn(?s:.*)yarn here is 1\."):
        await run_in(engine, "javascript", USE, "yarn.lock")
