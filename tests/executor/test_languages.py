"""Every language of the table, in the sandbox: the same things hold for all."""

from __future__ import annotations

from pathlib import Path

import pytest

import runtimes
from executor import Status
from tests.samples import BIG, UNICODE, read_samples

HELLO = {row.name: row.hello for row in runtimes.LANGUAGES}
FAIL, LARGE, COUNT_LINES = map(read_samples, ("fails", "big", "count"))
SHOWS_TEXT = read_samples("unicode")
NAMES = sorted(HELLO)


def test_every_table_has_every_language():
    for table in (FAIL, SHOWS_TEXT, LARGE, COUNT_LINES):
        assert sorted(table) == NAMES


@pytest.mark.parametrize("language", NAMES)
async def test_hello_runs(language, run):
    result = await run(language, HELLO[language])
    assert (result.status, result.stdout.text) == (
        Status.OK,
        runtimes.language(language).hello_output,
    ), result.stderr.text


# What a language does, once it runs, is the same for every user.


@pytest.mark.once
@pytest.mark.parametrize("language", NAMES)
async def test_a_failing_program_keeps_its_exit_code_and_stderr(language, run):
    result = await run(language, FAIL[language])
    assert (result.status, result.exit_code) == (Status.NONZERO_EXIT, 3), result.stderr.text
    assert "to stderr" in result.stderr.text
    assert result.phase == "run"


@pytest.mark.once
@pytest.mark.parametrize("language", NAMES)
async def test_unicode_comes_back_exact(language, run):
    result = await run(language, SHOWS_TEXT[language])
    assert result.stdout.text == f"{UNICODE}\n", result.stderr.text
    assert not result.stdout.binary


@pytest.mark.once
@pytest.mark.parametrize("language", NAMES)
async def test_a_large_output_is_counted_exactly(language, run):
    result = await run(language, LARGE[language])
    stdout = result.stdout
    assert (stdout.bytes_total, stdout.lines_total) == (len(BIG), 2048), result.stderr.text
    shown = len(stdout.head.encode()) + len(stdout.tail.encode())
    assert shown + stdout.bytes_omitted == len(BIG)
    assert shown <= 4096


@pytest.mark.view
@pytest.mark.parametrize("language", NAMES)
async def test_a_bound_file_is_there_as_file_content(language, run, project: Path):
    (project / "data.txt").write_text("".join(f"line {n} — ü\n" for n in range(500)))
    result = await run(language, COUNT_LINES[language], bind_file="data.txt")
    assert (result.stdout.text.split(), result.stderr.text) == (["500"], "")  # no tool warns


async def test_of_sys_r_sees_where_malloc_looks_and_nothing_else(run):
    """Two files, to read."""
    code = 'for (f in list.files("/sys", recursive = TRUE)) cat(f, file.access(f, 2), "\\n")'
    result = await run("r", code)
    assert result.status is Status.OK, result.stderr.text
    pages = "kernel/mm/transparent_hugepage"
    allowed = {f"{pages}/{name} -1 " for name in ("enabled", "hpage_pmd_size")}
    assert set(result.stdout.text.splitlines()) <= allowed
