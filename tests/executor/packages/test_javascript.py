"""Packages of JavaScript and TypeScript, and what of them is refused."""

from __future__ import annotations

import json
import random

import pytest

import runtimes
from executor import PackagesError, Request, RequestError
from executor.packages import model
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.npm_registry import Registry
from tests.needs import need

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

ALLOW = frozenset({"javascript"})
USE = 'import value from "alpha"; console.log(value);'


@pytest.fixture
def registry(served):
    return Registry(served)


@pytest.fixture
async def engine(open_with, served):
    # Another host that is allowed has the proxy listen, so that what it refuses is told.
    given = model.Registry(served.url, ("files.example.com",), private=True)
    async with open_with(
        allow=ALLOW, registries={"javascript": given}, layer_bytes=4 << 20
    ) as opened:
        yield opened


def exporting(text):
    return {"index.js": f"module.exports = {text};\n"}


@pytest.mark.parametrize("language", ["javascript", "typescript"])
async def test_packages_are_fetched_once_and_found_offline_afterwards(
    engine, registry, served, language
):
    registry.add(
        "alpha", files=exporting('require("@scope/beta") + 1'), requires={"@scope/beta": "^1"}
    )
    registry.add("@scope/beta", files=exporting("41"))
    first = await run_in(engine, language, USE, "alpha")
    assert (first.stdout.text, first.packages) == ("42\n", "now"), first.stderr.text
    served.files.clear()
    second = await run_in(engine, language, USE, "alpha")
    assert (second.stdout.text, second.packages) == ("42\n", "kept")


async def test_a_young_release_is_left_out(engine, registry):
    registry.add("alpha", "1.0.0", exporting("1"))
    registry.add("alpha", "2.0.0", exporting("2"), released="2999-01-01T00:00:00.000Z")
    assert (await run_in(engine, "javascript", USE, "alpha")).stdout.text == "1\n"


async def test_an_install_script_runs_in_the_build_which_has_no_network(engine, registry, served):
    served.files["/there"] = ("text/plain", b"there")
    try_it = (
        f'fetch("{served.url}/there").then(() => "a network", () => "no network")'
        '.then((found) => require("fs").writeFileSync("found.json", JSON.stringify(found)))'
    )
    registry.add(
        "alpha",
        files={"index.js": 'module.exports = require("./found.json");\n', "install.js": try_it},
        scripts={"postinstall": "node install.js"},
    )
    result = await run_in(engine, "javascript", USE, "alpha")
    assert (result.stdout.text, served.count("/there")) == ("no network\n", 0)


def nothing(registry):
    pass


def wrong_digest(registry):
    registry.add("alpha", integrity=f"sha512-{'A' * 86}==")


def elsewhere(registry):
    registry.add("alpha", at="https://files.elsewhere.example")


def direct_address(registry):
    registry.add("alpha", requires={"beta": "https://files.elsewhere.example/beta.tgz"})


def failing_script(registry):
    registry.add("alpha", scripts={"install": "echo BROKEN; exit 3"})


def huge(registry):
    # What shrinks to less than a thousandth, npm refuses of its own.
    text = (random.Random(1).randbytes(4096).hex() + "\n" * (1 << 20)) * 48
    registry.add("alpha", files={f"{n}.js": text for n in range(4)})


@pytest.mark.parametrize(
    ("prepare", "spec", "words"),
    [
        (nothing, "alpha", "no such package or version"),
        (exporting, "alpha@9", "no such package or version"),
        (wrong_digest, "alpha", "not what the lock's digest says"),
        (elsewhere, "alpha", "files.elsewhere.example is not one of its registries"),
        (direct_address, "alpha", "files.elsewhere.example is not one of its registries"),
        (failing_script, "alpha", "an install script failed"),
        (huge, "alpha", "exceed the disk limit"),
    ],
)
async def test_bad_packages_are_refused_in_words_and_leave_nothing(  # noqa: PLR0917 - fixtures
    engine, registry, kept, prepare, spec, words
):
    prepare(registry)
    with pytest.raises(PackagesError) as refused:
        await run_in(engine, "javascript", USE, spec)
    assert words in str(refused.value)
    assert left(kept) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"integrity": f"sha512-{'A' * 86}=="}, "not what the lock's digest says"),
        ({"integrity": None}, "alpha has no digest in the lock"),
        ({"integrity": None, "inBundle": True}, "alpha has no digest in the lock"),
        ({"resolved": "git+ssh://git@10.0.0.1/a.git", "integrity": None}, "alpha has no digest"),
    ],
)
async def test_a_lock_of_the_project_is_taken_as_it_is(  # noqa: PLR0917 - fixtures
    engine, registry, served, project, change, words
):
    registry.add("alpha", files=exporting("1"))
    dist = registry.known["alpha"]["versions"]["1.0.0"]["dist"]
    entry = {
        "version": "1.0.0", "resolved": dist["tarball"], "integrity": dist["integrity"], **change,
    }  # fmt: skip
    needs = {"name": "p", "dependencies": {"alpha": "^1.0.0"}}
    entry = {name: value for name, value in entry.items() if value is not None}
    lock = {"lockfileVersion": 3, "packages": {"": needs, "node_modules/alpha": entry}}
    (project / "package.json").write_text(json.dumps(needs))
    (project / "package-lock.json").write_text(json.dumps(lock))
    if words:
        with pytest.raises(PackagesError, match=words):
            await run_in(engine, "javascript", USE, "package-lock.json")
        return
    result = await run_in(engine, "javascript", USE, "package-lock.json")
    assert (result.stdout.text, result.packages) == ("1\n", "now")


@pytest.mark.parametrize("spec", ["alpha@npm:beta", "alpha@file:../x", "github:a/b", "../x", "-g"])
async def test_what_is_no_package_of_a_registry_is_refused(engine, spec):
    with pytest.raises(RequestError):
        await run_in(engine, "javascript", USE, spec)


@pytest.mark.parametrize("toolchain", ["bun", "deno", "node"])
@pytest.mark.parametrize("as_file", [False, True], ids=["code", "file"])
async def test_each_toolchain_finds_packages(  # noqa: PLR0917 - fixtures
    open_with, registry, served, project, monkeypatch, toolchain, as_file
):
    def only(row, *where):
        found, passed_over = discover(row, *where)
        return tuple(c for c in found if c.toolchain.name == toolchain), passed_over

    discover = runtimes.discover
    need(toolchain)
    monkeypatch.setattr(runtimes, "discover", only)
    registry.add("alpha", files=exporting("42"))
    # What a project has of its own does not hide a layer.
    (project / "package.json").write_text('{"dependencies": {"other": "1"}}')
    (project / "node_modules/other").mkdir(parents=True)
    (project / "use.mjs").write_text(USE)
    given = model.Registry(served.url, private=True)
    async with open_with(allow=ALLOW, registries={"javascript": given}) as engine:
        request = Request(
            "javascript", packages=("alpha",), **({"path": "use.mjs"} if as_file else {"code": USE})
        )
        result = (await engine.run(request)).result
    assert (result.stdout.text, result.toolchain) == ("42\n", toolchain), result.stderr.text
