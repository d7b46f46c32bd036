"""Packages of Java and C#: had once, found offline, and refused where they are bad."""

from __future__ import annotations

import pytest

from executor import Caller, PackagesError, Request
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.test_others import Case, opened
from tests.executor.packages.virtual_machine_registries import Assemblies, Jars

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

JAVA_CLASS = (
    "package org.example;\n"
    "public class {name} {{ public static int value() {{ return {value}; }} }}\n"
)

CSHARP_CLASS = "public static class {name} {{ public static int Value() {{ return {value}; }} }}"

CASES = {
    "java": Case(
        "java",
        Jars,
        "org.example:alpha",
        "import org.example.Alpha;\nSystem.out.println(Alpha.value());\n",
        ("alpha", JAVA_CLASS.format(name="Alpha", value="Beta.value() + 1"), "beta"),
        ("beta", JAVA_CLASS.format(name="Beta", value="41")),
        "packages.lock",
    ),
    "csharp": Case(
        "csharp",
        Assemblies,
        "alpha",
        "Console.WriteLine(Alpha.Value());\n",
        ("alpha", CSHARP_CLASS.format(name="Alpha", value="Beta.Value() + 1"), "beta"),
        ("beta", CSHARP_CLASS.format(name="Beta", value="41")),
        "packages.lock",
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_packages_are_fetched_once_and_found_offline_afterwards(open_with, served, name):
    case = CASES[name]
    registry = case.registry(served)
    registry.add(*case.alpha[:2], requires=case.alpha[2])
    registry.add(*case.beta)
    async with opened(open_with, served, case.language) as engine:
        first = await run_in(engine, case.language, case.use, case.spec)
        assert (first.stdout.text, first.packages) == ("42\n", "now"), first.stderr.text
        served.files.clear()
        second = await run_in(engine, case.language, f"{case.use}\n", case.spec)
        assert (second.stdout.text, second.packages) == ("42\n", "kept")
        without = await run_in(engine, case.language, f"{case.use}\n\n")
        assert not without.ok


@pytest.mark.parametrize("name", CASES)
async def test_what_is_not_there_is_said_and_leaves_nothing(open_with, served, kept, name):
    case = CASES[name]
    case.registry(served)
    async with opened(open_with, served, case.language) as engine:
        with pytest.raises(PackagesError, match="no such"):
            await run_in(engine, case.language, case.use, case.spec)
    assert left(kept) == []


@pytest.mark.parametrize("name", CASES)
async def test_a_file_that_is_not_what_the_lock_says_is_refused(open_with, served, kept, name):
    case = CASES[name]
    registry = case.registry(served)
    registry.add(*case.beta)
    spec = case.spec.replace("alpha", "beta")
    async with opened(open_with, served, case.language) as engine:
        wanted = Request(case.language, "", packages=(spec,))
        answer = await engine.have_packages(wanted, Caller(), fetch=False)
        assert case.lock in answer.files
        registry.add(case.beta[0], case.beta[1].replace("41", "666"))
        with pytest.raises(PackagesError, match="not what the lock's digest says"):
            await engine.have_packages(wanted, Caller(), fetch=True)
    assert left(kept) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"requires": "beta", "version": "../../../../evil"}, "no such|leads out of its folder"),
        ({"sha1": "0" * 40}, "not what the registry's digest says"),
    ],
)
async def test_a_bad_jar_is_refused_in_words(open_with, served, kept, more, words):
    registry, case = Jars(served), CASES["java"]
    registry.add(*case.alpha[:2], **more)
    registry.add(*case.beta)
    async with opened(open_with, served, "java") as engine:
        with pytest.raises(PackagesError, match=words):
            await run_in(engine, "java", case.use, case.spec)
    assert left(kept) == []


async def test_where_hex_is_not_installed_it_is_said_how_it_is(
    open_with, served, monkeypatch, tmp_path
):
    monkeypatch.delenv("MIX_HOME", raising=False)
    monkeypatch.delenv("MIX_ARCHIVES", raising=False)
    async with opened(open_with, served, "elixir") as engine:
        monkeypatch.setenv("HOME", str(tmp_path))
        with pytest.raises(PackagesError, match="need hex, which is not installed") as refused:
            await run_in(engine, "elixir", "IO.puts(1)", "alpha")
    assert refused.value.hint == "mix local.hex"


SCRIPT = {"tools/install.ps1": b"exit 1", "tools/init.ps1": b"exit 1"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"more": {"../../evil.dll": b"1"}}, "leads out of its folder"),
        ({"more": {"lib/net45/..%2f..%2f..%2fevil.dll": b"1"}}, "leads out of its folder"),
        ({"framework": "net9.0"}, "no assembly that Mono can load"),
    ],
)
async def test_a_bad_package_of_nuget_is_refused_in_words(open_with, served, kept, more, words):
    registry, case = Assemblies(served), CASES["csharp"]
    registry.add(*case.beta, **more)
    async with opened(open_with, served, "csharp") as engine:
        with pytest.raises(PackagesError, match=words):
            await run_in(engine, "csharp", case.use, "beta")
    assert left(kept) == []


async def test_scripts_of_a_package_are_not_kept(open_with, served, kept):
    Assemblies(served).add(*CASES["csharp"].beta, more=SCRIPT)
    async with opened(open_with, served, "csharp") as engine:
        result = await run_in(engine, "csharp", "Console.WriteLine(Beta.Value());", "beta@1.0.0")
    assert result.stdout.text == "41\n", result.stderr.text
    assert list(kept.rglob("*.ps1")) == []
