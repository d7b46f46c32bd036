"""The verb `pages`, as a person calls it."""

import json

import pytest

from ctxmode import cli
from ctxmode.config.locations import load_config
from executor.project.store.run_drafts import RunDrafts

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
TEXT = "# Retries\n\n## Why\n\nA second of pause suffices.\n\n## Limits\n\nThree at most.\n"
DRAFT = ".contexo/wiki/concepts/retry-policy.md"


@pytest.fixture
def ask(place, capsys, monkeypatch):
    """Run one action; what it prints, as data where --json is said."""
    for name in ("CONTEXO_CAPTURE_DISABLE", "CONTEXO_DISTILL_DISABLE", "CONTEXO_DRIFT_DISABLE"):
        monkeypatch.delenv(name, raising=False)

    def run(*words, code=0):
        assert cli.main(["pages", *map(str, words)]) == code
        shown = capsys.readouterr()
        return json.loads(shown.out) if "--json" in words and code != 2 else shown.out + shown.err

    return run


@pytest.fixture
def tell(ask, monkeypatch, tmp_path):
    """Run one action with a text as stdin."""

    def run(text, *words, code=0):
        file = tmp_path / "stdin"
        file.write_text(text)
        with file.open() as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            return ask(*words, code=code)

    return run


@pytest.fixture
def begun(ask, tell):
    ask("init")
    tell(TEXT, "write", "retry-policy", "-", "--type", "concept", "--tag", "http")


def test_c18_init_says_that_turns_are_captured_and_how_to_turn_that_off(ask, monkeypatch):
    told = ask("init")
    assert "Turns are captured from now on" in told
    assert "CONTEXO_CAPTURE_DISABLE=1" in told
    assert "already set up" in ask("init")
    monkeypatch.setenv("CONTEXO_CAPTURE_DISABLE", "1")
    again = ask("init", "--json")
    assert (again["is_new"], again["captures"]) == (False, False)


def test_c18_a_page_is_written_pushed_listed_and_read(ask, begun, place):
    assert ask("status", "--json")["drafts"][0]["state"] == "new"
    assert not ask("push", "--dry-run", "--json")["commit"]
    pushed = ask("push", "-m", "Retries", "--json")
    assert [page["slug"] for page in pushed["pages"]] == ["retry-policy"]
    (row,) = ask("list", "--tag", "http", "--json")["pages"]
    assert (row["type"], row["slug"], row["state"]) == ("concept", "retry-policy", "unchanged")
    assert ask("list", "--tag", "other", "--json")["pages"] == []
    assert "A second of pause suffices." in ask("read", "retry-policy")
    (commit,) = ask("history", "retry-policy", "--json")["commits"]
    assert (commit["sha"], commit["subject"]) == (pushed["commit"], "Retries")
    assert DRAFT.removeprefix(".contexo/") in ask("log", "--json")["commits"][0]["paths"]
    assert "Nothing to push" in ask("push")


def test_fields_are_given_by_options(ask, tell, place):
    ask("init")
    more = ("--related", "a", "--source", "s1", "--summary", "So.", "--field", "owner=ops")
    tell(TEXT, "write", "x", "-", "--type", "entity", *more)
    text = ask("read", "x")
    for line in ("- a", "- s1", "reasoning_summary: So.", "owner: ops"):
        assert line in text


def test_only_pages_of_a_tag_or_a_name_are_pushed(ask, tell, begun):
    tell(TEXT, "write", "other", "-", "--type", "entity")
    dry = ask("push", "--tag", "http", "--dry-run", "--json")
    assert [page["slug"] for page in dry["pages"]] == ["retry-policy"]
    dry = ask("push", "other", "--dry-run", "--json")
    assert [page["slug"] for page in dry["pages"]] == ["other"]
    assert "exclude each other" in ask("push", "other", "--tag", "http", code=2)
    assert "no changed draft has the tag" in ask("push", "--tag", "nothing", code=2)


def test_secrets_are_replaced_and_counted(ask, tell, place):
    ask("init")
    told = tell(f"The token is {SECRET}.", "write", "t", "-", "--type", "concept", "--json")
    assert told["redactions"] == 1
    assert SECRET not in ask("read", "t")


def test_c6_c8_a_push_pauses_until_the_session_is_distilled(ask, tell, begun):
    tell('{"session": "s1", "user": "Retry?", "assistant": "Yes."}', "capture", "turn")
    status = ask("capture", "status", "--json")
    assert (status["captures"], status["buffers"][0]["turns"]) == (True, 1)
    told = ask("push", code=1)
    assert told.startswith("<PUSH_PAUSED reason=distill_required>")
    assert "Retry?" in told
    assert ask("status", "--json")["head"] == ""
    tell(TEXT, "write", "why-retries", "-", "--type", "source")
    pushed = ask("push", "--distill-done", "--source-slug", "why-retries", "--json")
    assert len(pushed["pages"]) == 2
    assert "- why-retries" in ask("read", "retry-policy")
    assert ask("capture", "status", "--json")["buffers"] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--distill-done needs --source-slug\n  context-mode pages push --distill-done --sou"),
        (
            ("--source-slug", "why"),
            "no source page 'why'\n  Write it: context-mode pages write why FILE --type source. "
            "Then: context-mode pages push --distill-done --source-slug why\n",
        ),
    ],
)
def test_a_push_at_a_terminal_names_the_options_of_a_terminal(begun, capsys, words, told):
    assert cli.main(["pages", "push", "--distill-done", *words]) == 2
    assert capsys.readouterr().err.startswith(f"context-mode: {told}")


def test_c6_no_distill_pushes_at_once(ask, tell, begun):
    tell('{"session": "s1", "user": "Retry?", "assistant": "Yes."}', "capture", "turn")
    assert ask("push", "--no-distill", "--json")["commit"]


def test_c9_the_template_is_shown_without_a_push(ask, tell, begun):
    tell('{"session": "s1", "user": "Retry?", "assistant": "Yes."}', "capture", "turn")
    for words in (("capture", "template"), ("write", "why", "--type", "source")):
        told = ask(*words)
        assert "<CAPTURE_TEMPLATE" in told
        assert "Retry?" in told
    assert ask("status", "--json")["head"] == ""


def test_the_repository_is_gits_own_and_can_be_exported(ask, begun, tmp_path):
    ask("push")
    path = ask("path", "--json")["path"]
    assert path.endswith(".pages.git")
    written = ask("export", tmp_path / "out", "--json")["paths"]
    assert {"index.md", "tags.md", "wiki/concepts/retry-policy.md"} == set(written)
    assert "is not empty" in ask("export", tmp_path / "out", code=2)


def test_what_is_forgotten_keeps_its_history(ask, begun):
    ask("push")
    assert "is removed" in ask("forget", "retry-policy")
    assert ask("list", "--json")["pages"] == []
    assert len(ask("log", "--json")["commits"]) == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("read", "nothing"), "nothing"),
        (("read", "../x"), "../x"),
        (("read", "x\0y"), ""),
        (("read", "\ud800"), ""),
        (("read", "retry-policy", "--at", "zzz"), "zzz"),
        (("history", "../../etc/passwd"), ""),
        (("history", "retry-policy", "--limit", "-1"), "limit"),
        (("write", "x", "--type", "concept"), "no text"),
        (("write", "../x", "docs/none.md"), "no such file"),
        (("write", "x", "--field", "novalue"), "novalue"),
        (("push", "--type", "poem"), "poem"),
        (("push", "nothing"), "nothing"),
        (("forget", "nothing"), "nothing"),
    ],
)
def test_bad_input_is_told_and_writes_nothing(ask, begun, words, problem):
    before = ask("status", "--json")
    assert problem in ask(*words, code=2)
    after = ask("status", "--json")
    assert after["head"] == before["head"]
    assert after["drafts"] == before["drafts"]


def test_before_init_each_action_says_how_to_begin(ask, place):
    assert "context-mode pages init" in ask("status")
    assert "context-mode pages init" in ask("push", code=2)
    assert "context-mode pages init" in ask("pull", code=2)


def test_purge_leaves_pages_to_their_own_verb(place, capsys):
    assert cli.main(["kept", "rm", "--kind", "page"]) == 2
    assert "context-mode pages forget" in capsys.readouterr().err


def test_c14_c16_c17_what_changed_is_shown_by_section_with_blame(ask, begun, place):
    first = ask("push", "--json")["commit"]
    draft = place / DRAFT
    draft.write_text(draft.read_text().replace("A second", "A minute").replace("Limits", "Bounds"))
    assert "A minute of pause" in ask("diff", "retry-policy", "--local")
    second = ask("push", "--json")["commit"]
    text = ask("diff", "retry-policy", "--blame")
    assert f"introduced by {first[:7]}" in text
    assert f"heading since {second[:7]}" in text
    diff = ask("diff", "retry-policy", "--json")
    assert [one["status"] for one in diff["sections"]] == ["modified", "renamed"]
    same = ask("diff", "retry-policy", "--from", first, "--to", first, "--json")
    assert {one["status"] for one in same["sections"]} == {"unchanged"}
    versions = ask("evolution", "retry-policy", "--json")["versions"]
    assert [one["commit"]["sha"] for one in versions] == [second, first]
    assert f"introduced by {first[:7]}" in ask("blame", "retry-policy")


def test_a_draft_that_was_never_pushed_is_replaced_with_force_alone(ask, tell, place):
    ask("init")
    for verb in (("write", "retry-policy", "-", "--type", "concept"), ("forget", "retry-policy")):
        tell(TEXT, "write", "retry-policy", "-", "--type", "concept", "--force")
        said = tell("# Other\n", *verb, code=2)
        assert "never pushed" in said
        assert (place / DRAFT).read_text().endswith(TEXT)
        tell("# Other\n", *verb, "--force")
        assert not (place / DRAFT).exists() or "# Other" in (place / DRAFT).read_text()


def test_a_draft_that_a_run_wrote_is_pushed_only_if_that_is_said(ask, begun, place):
    runs = RunDrafts(load_config(place).state_dir / "changes")
    runs.remember({str(place / DRAFT): "unknown"})
    left = ask("push", "--json", code=1)
    assert (left["commit"], left["reason"]) == ("", "from_run")
    assert "(edited since)" in ask("push", code=1)
    assert ask("push", "--from-run", "--json")["commit"]
    assert "and a run" in ask("blame", "retry-policy")
