"""ContextOS's DECISIONS.md, kept in step with what is decided."""

from __future__ import annotations

import json

import pytest

from ctxmode import cli
from tests.repomap.repositories import write_files

BY_HAND = "# Decisions\n\n## Paths\n\nPaths are POSIX only.\n"
PATH = ".contextos/DECISIONS.md"


@pytest.fixture
def remember(place, capsys):
    """Run the verb `memory`; what it prints on stdout and on stderr."""

    def run(*words, code=0):
        assert cli.main(["memory", *words]) == code
        shown = capsys.readouterr()
        return shown.out, shown.err

    return run


def test_a_decision_is_written_into_a_section_and_the_rest_is_taken_over(remember, place):
    write_files(place, {PATH: BY_HAND})
    _, err = remember("remember", "We use trio.", "--category", "decide", "--key", "runtime")
    assert "imported 1 decision" in err
    text = (place / PATH).read_text()
    assert text.startswith(BY_HAND)
    assert text.count("We use trio.") == 1
    assert text.count("Paths are POSIX only.") == 1
    facts = json.loads(remember("list", "--json")[0])["facts"]
    assert {(one["text"], one["category"]) for one in facts} == {
        ("Paths are POSIX only.", "decide"), ("We use trio.", "decide"),
    }  # fmt: skip


def test_it_stays_in_step_when_either_changes(remember, place):
    write_files(place, {PATH: BY_HAND})
    remember("remember", "We use trio.", "--category", "decide", "--key", "runtime")
    whole = (place / PATH).read_text()
    (place / PATH).write_text(whole.replace("POSIX only", "POSIX and Windows"))
    _, err = remember("remember", "We use anyio.", "--category", "decide", "--key", "runtime")
    assert "imported 1 decision" in err
    text = (place / PATH).read_text()
    assert "We use trio." not in text
    assert "We use anyio." in text
    assert text.count("POSIX and Windows") == 1
    found = json.loads(remember("recall", "paths", "--json")[0])["text"]
    assert "POSIX and Windows" in found


def test_what_is_no_decision_leaves_the_file_alone(remember, place):
    write_files(place, {PATH: BY_HAND})
    remember("remember", "The sky is blue.")
    assert (place / PATH).read_text() == BY_HAND


def test_without_the_folder_of_contextos_there_is_no_file(remember, place):
    remember("remember", "We use trio.", "--category", "decide")
    assert not (place / ".contextos").exists()


def test_a_file_is_begun_where_the_folder_is(remember, place):
    (place / ".contextos").mkdir()
    remember("remember", "We use trio.", "--category", "decide")
    assert "- We use trio." in (place / PATH).read_text()


def test_a_link_out_of_the_project_is_not_written_through(remember, place, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text("# Mine\n")
    (place / ".contextos").mkdir()
    (place / PATH).symlink_to(outside)
    _, err = remember("remember", "We use trio.", "--category", "decide", code=2)
    assert "points outside the project" in err
    assert outside.read_text() == "# Mine\n"


def test_export_and_import_have_the_form_by_name(remember, place):
    write_files(place, {PATH: BY_HAND})
    assert json.loads(remember("import", PATH, "--json")[0])["form"] == "decisions"
    remember("remember", "We use trio.", "--category", "decide", "--key", "r")
    remember("remember", "No decision.", "--key", "n")
    out, _ = remember("export", "--format", "decisions")
    assert "We use trio." in out
    assert "No decision." not in out
    assert "POSIX" not in out
