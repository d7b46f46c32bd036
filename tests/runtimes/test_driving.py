"""Drivers: programs that keep interpreters, row by row."""

import pytest

from runtimes import LANGUAGES, driver, driver_program
from runtimes.model import Candidate

DRIVEN = [language for language in LANGUAGES if language.driver]


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
