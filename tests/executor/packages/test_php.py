"""PHP's packages: locks of a project, and what of a package runs never, or is refused."""

from __future__ import annotations

import json

import pytest

from executor import PackagesError
from executor.packages import model
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.script_registries import Composed

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

VALUE = "function alpha() { return 42; }\n"
USE = "<?php echo alpha(), PHP_EOL;"


def opened(open_with, served):
    given = model.Registry(served.url, private=True)
    return open_with(allow=frozenset({"php"}), registries={"php": given}, layer_bytes=64 << 20)


def write_lock(project, *entries):
    lock = {"packages": list(entries), "packages-dev": [{"name": "acme/absent"}], "aliases": []}
    (project / "composer.lock").write_text(json.dumps(lock))


async def test_a_lock_of_the_project_is_taken_as_it_is_and_pinned(open_with, served, project):
    registry = Composed(served)
    entry = registry.add("acme/alpha", VALUE)
    write_lock(
        project, entry | {"source": {"type": "git", "url": "git@example.com:a", "reference": ""}}
    )
    del served.files["/packages.json"]
    async with opened(open_with, served) as engine:
        result = await run_in(engine, "php", USE, "composer.lock")
        assert result.stdout.text == "42\n", result.stderr.text
        registry.add("acme/alpha", VALUE.replace("42", "666"))
        again = await run_in(engine, "php", f"{USE}\n", "composer.lock")
        assert (again.stdout.text, again.packages) == ("42\n", "kept")


async def test_a_bound_file_is_there_beside_packages(open_with, served, project):
    Composed(served).add("acme/alpha", VALUE)
    (project / "given.txt").write_text("given ")
    async with opened(open_with, served) as engine:
        code = "<?php require_once 'vendor/autoload.php'; echo FILE_CONTENT, alpha();"
        result = await run_in(engine, "php", code, "acme/alpha", bind_file="given.txt")
    assert result.stdout.text == "given 42", result.stderr.text


async def test_neither_plugins_nor_scripts_of_packages_run(open_with, served):
    plugin = "<?php namespace Acme; echo 'RAN'; exit(1);"
    about = {
        "type": "composer-plugin",
        "extra": {"class": "Acme\\Plugin"},
        "scripts": dict.fromkeys(("post-install-cmd", "post-package-install"), "exit 1"),
    }
    Composed(served).add("acme/alpha", VALUE, files={"Plugin.php": plugin}, about=about)
    async with opened(open_with, served) as engine:
        result = await run_in(engine, "php", USE, "acme/alpha")
    assert result.stdout.text == "42\n", result.stderr.text


REFUSED = {
    "a digest of the lock's that is another": ({"digest": "0" * 40}, {}, "the lock's digest says"),
    "a folder": ({}, {"dist": {"type": "path", "url": "../a"}}, "comes from no registry"),
    "a repository of git's": ({}, {"dist": None}, "comes from no registry"),
    "a name that leads out": ({"files": {"../../../a": "a"}}, {}, "leads out of its folder"),
    "an absolute name": ({"files": {"/../etc/a": "a"}}, {}, "leads out of its folder"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_a_lock_may_not_hold_is_refused(open_with, served, project, kept, case):
    given, changed, reason = REFUSED[case]
    entry = Composed(served).add("acme/alpha", VALUE, **given)
    write_lock(project, entry | changed)
    async with opened(open_with, served) as engine:
        with pytest.raises(PackagesError, match=reason):
            await run_in(engine, "php", USE, "composer.lock")
    assert left(kept) == []
