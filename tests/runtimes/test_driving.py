"""Drivers: programs that keep interpreters, row by row."""

import pytest

from runtimes import LANGUAGES, conversing, driver, driver_program
from runtimes.model import Candidate

DRIVEN = [language for language in LANGUAGES if language.driver]
CONVERSING = [language for language in LANGUAGES if language.conversation]


def candidate(language, toolchain) -> Candidate:
    paths = {role: f"/usr/bin/{names[0]}" for role, names in toolchain.executables.items()}
    return Candidate(language, toolchain, paths, paths, (), ())


@pytest.mark.parametrize("language", DRIVEN, ids=lambda language: language.name)
def test_a_driver_is_a_program_of_its_toolchains(language):
    known = {toolchain.name for toolchain in language.toolchains}
    assert set(language.driver.toolchains) <= known
    for toolchain in language.toolchains:
        if toolchain.name not in language.driver.toolchains:
            continue
        program = driver_program(
            candidate(language, toolchain), job_dir="/job/1", scratch_dir="/tmp", cwd="/p"
        )
        assert f"/job/1/{language.source_name}" in program.steps[-1].argv
        assert b"descriptor 3" in program.files[language.source_name]


def test_the_languages_that_keep_their_state():
    assert {language.name for language in DRIVEN} == {
        *("python", "javascript", "ruby", "r", "shell"),
    }


def test_a_toolchain_without_a_driver_has_none():
    row = next(language for language in LANGUAGES if language.name == "shell")
    sh = next(toolchain for toolchain in row.toolchains if toolchain.name == "sh")
    assert driver(candidate(row, sh)) is None
    with pytest.raises(ValueError, match="no driver"):
        driver_program(candidate(row, sh), job_dir="/job/1", scratch_dir="/tmp", cwd="/p")


@pytest.mark.parametrize("language", CONVERSING, ids=lambda language: language.name)
def test_a_conversations_driver_is_told_so_and_serves_nothing_else(language):
    assert set(conversing(language)) <= {toolchain.name for toolchain in language.toolchains}
    for toolchain in language.toolchains:
        if toolchain.name not in conversing(language):
            continue
        chosen = candidate(language, toolchain)
        assert driver(chosen, interactive=True) == language.conversation
        assert driver(chosen) == language.driver
        where = {"job_dir": "/job/1", "scratch_dir": "/tmp", "cwd": "/p"}
        program = driver_program(chosen, interactive=True, **where)
        assert "interactive" in program.steps[-1].argv
        assert b"descriptor 3" in program.files[language.source_name]


def test_every_language_with_a_driver_converses_too():
    assert {row.name for row in DRIVEN} <= {row.name for row in CONVERSING}
    assert conversing(next(row for row in LANGUAGES if row.name == "go")) == ()
