"""A draft that a run wrote becomes no page in the person's name without being told as a run's."""

from __future__ import annotations

import pytest

from ctxmode.commands.pages import OPERATIONS
from ctxmode.errors import UsageError
from ctxmode.operations.operation import Asker, TextFile
from ctxmode.operations.pages import open_pages
from executor.project import RunDrafts
from executor.project.rules.names import NAMES
from tests.executor.project.viewing import View, python

ANN = "Ann <ann@example.com>"
PERSONS = "## Why\n\nA person says so.\n"
WRITTEN = "wiki/concepts/own.md"
TEXT = """---
schema: ctx.page.v1
slug: own
type: concept
author: Ann <ann@example.com>
created: 2026-01-01T00:00:00Z
---
# Own

## Why

The tests may be skipped.
"""


@pytest.fixture
def act(config, monkeypatch):
    """Do what is asked of pages, as both doors do."""

    def run(action, *words, **options):
        return OPERATIONS[action](Asker(config), *words, **options)

    name, address = ANN.removesuffix(">").split(" <")
    monkeypatch.setenv("GIT_AUTHOR_NAME", name)
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", address)
    with open_pages(config, author=ANN) as pages:
        pages.init()
    run("write", "mine", TextFile("", PERSONS), kind="concept")
    return run


@pytest.fixture
def view(config):
    """Runs whose changes reach the project as a server's do."""
    return View(config.project, config.state_dir)


@pytest.fixture
def written(act, view):
    """A draft that a run wrote."""

    def run(path=WRITTEN, text=TEXT):
        view.begin()
        view.run(*python(f"open('.contexo/{path}', 'w').write({text!r})"))
        view.commit(NAMES)

    run()
    return run


def find_left(act):
    """Return the drafts that a push would leave."""
    lines = act("push", dry_run=True).text.partition("from a run:\n")[2].splitlines()
    return [line.strip() for line in lines if line.startswith("  ")]


def authors(act, slug):
    return [one["author"] for one in act("history", slug).data["commits"]]


def test_a_push_leaves_what_a_run_wrote_and_says_so(act, written, config, monkeypatch):
    assert (config.project / ".contexo" / WRITTEN).read_text() == TEXT
    pushed = act("push")
    assert [one["path"] for one in pushed.data["pages"]] == ["wiki/concepts/mine.md"]
    assert pushed.is_failure
    assert f"1 draft from a run:\n  {WRITTEN}\n" in pushed.text
    assert "--from-run" in pushed.text
    assert authors(act, "own") == []
    assert authors(act, "mine") == [ANN.partition(" <")[0]]
    again = act("push")
    assert (again.data["commit"], again.is_failure) == ("", True)
    assert WRITTEN in again.text
    monkeypatch.setattr(RunDrafts, "find", lambda self, drafts: {})
    act("push")
    assert authors(act, "own") == ["Ann"], "the control: nobody knows of the run"


@pytest.mark.parametrize("asked", [{"slugs": ("own",)}, {"kind": "concept"}, {"dry_run": True}])
def test_whatever_names_it_does_not_push_it(act, written, asked):
    pushed = act("push", **asked)
    assert WRITTEN in pushed.text
    assert WRITTEN not in [one["path"] for one in pushed.data["pages"]]
    assert authors(act, "own") == []


def test_a_name_of_another_type_pushes_no_other_draft(act, written):
    written("wiki/entities/own.md", TEXT.replace("type: concept", "type: entity"))
    assert act("push", ("mine",), kind="entity").data["commit"] == ""
    with pytest.raises(UsageError, match="no chosen draft was written by a run"):
        act("push", ("mine",), from_run=True)
    assert authors(act, "entity/own") == authors(act, "mine") == []


def test_as_the_source_of_a_session_it_is_not_pushed(act, written):
    text = TEXT.replace("slug: own", "slug: why").replace("concept", "source")
    written("raw/sessions/why.md", text)
    pushed = act("push", ("mine",), distill_done=True, source_slug="why")
    assert (pushed.data["reason"], pushed.is_failure) == ("from_run", True)
    assert authors(act, "mine") == []


def test_a_person_pushes_it_as_of_both(act, written):
    act("push")
    pushed = act("push", from_run=True)
    assert [one["path"] for one in pushed.data["pages"]] == [WRITTEN]
    assert authors(act, "own") == ["Ann and a run"]
    assert "Ann and a run" in act("blame", "own").text
    assert "author: Ann and a run" in act("read", "own").text
    with pytest.raises(UsageError, match="no chosen draft was written by a run"):
        act("push", from_run=True)


def test_what_a_person_edits_after_that_is_his(act, written, config):
    act("push", from_run=True)
    file = config.project / ".contexo" / WRITTEN
    file.write_text(file.read_text().replace("may be", "are never"))
    assert not act("push", ("own",)).is_failure
    assert authors(act, "own") == ["Ann", "Ann and a run"]


def test_one_that_a_person_edited_is_of_both(act, written, config):
    file = config.project / ".contexo" / WRITTEN
    file.write_text(file.read_text().replace("may be", "are never"))
    assert f"{WRITTEN} (edited since)" in act("push").text
    act("push", from_run=True)
    assert authors(act, "own") == ["Ann and a run"]


def test_so_is_one_of_a_person_that_a_run_changed(act, written):
    act("push", ("mine",))
    text = act("read", "mine").text.replace("A person", "Everybody") + "\n"
    written("wiki/concepts/mine.md", text)
    assert find_left(act) == ["wiki/concepts/mine.md", WRITTEN]
    act("push", ("mine",), from_run=True)
    assert authors(act, "mine") == ["Ann and a run", "Ann"]


def test_one_that_was_moved_is_known_by_its_text(act, written, config):
    folder = config.project / ".contexo/wiki"
    (folder / "concepts/own.md").rename(folder / "entities/own.md")
    assert find_left(act) == ["wiki/entities/own.md"]


def test_what_waited_for_a_person_is_a_runs_too(act, view):
    view.begin()
    view.run(*python(f"open('.contexo/{WRITTEN}', 'w').write({TEXT!r})"))
    view.store.apply(view.commit(NAMES, stage=True).id, names=NAMES)
    assert find_left(act) == [WRITTEN]


def test_one_that_was_forgotten_may_be_written_by_a_person(act, written):
    act("forget", "own", force=True)
    act("write", "own", TextFile("", PERSONS), kind="concept")
    assert not act("push").is_failure
    assert authors(act, "own") == ["Ann"]


def test_a_person_alone_is_told_nothing_of_runs(act):
    pushed = act("push")
    assert (pushed.is_failure, pushed.data["warnings"]) == (False, ())
    assert not act("push", dry_run=True).is_failure
