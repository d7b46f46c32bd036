"""Packages of Java: had once, found offline, and refused where they are bad."""

from __future__ import annotations

import pytest

from executor import Caller, PackagesError
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.test_others import Case, opened
from tests.executor.packages.virtual_machine_registries import Jars

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

JAVA_CLASS = (
    "package org.example;\n"
    "public class {name} {{ public static int value() {{ return {value}; }} }}\n"
)

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
        with pytest.raises(PackagesError, match="there is no such"):
            await run_in(engine, case.language, case.use, case.spec)
    assert left(kept) == []


@pytest.mark.parametrize("name", CASES)
async def test_a_file_that_is_not_what_the_lock_says_is_refused(open_with, served, kept, name):
    case = CASES[name]
    registry = case.registry(served)
    registry.add(*case.beta)
    spec = case.spec.replace("alpha", "beta")
    async with opened(open_with, served, case.language) as engine:
        answer = await engine.have_packages(case.language, [spec], Caller(), fetch=False)
        assert case.lock in answer.files
        registry.add(case.beta[0], case.beta[1].replace("41", "666"))
        with pytest.raises(PackagesError, match="not what the lock's digest says"):
            await engine.have_packages(case.language, [spec], Caller(), fetch=True)
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
