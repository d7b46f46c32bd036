"""`context-mode memory` in several projects: what stands in the files, and names that are none."""

from __future__ import annotations

import pytest

PATH = "/memory/decisions/paths"
TEXT = "Paths are POSIX only"
SECRET = "ghp_" + "R7kQ2mZx9LpV4tWc8YbN" + "3sDf6HgJ1aKe5uTo"  # made up


@pytest.fixture
def ask(user):
    """Run the verb in a project; what it prints as JSON comes back as such."""

    def run(*words, project="here", code=0):
        return user.ask(project, "memory", *words, code=code)

    run("remember", TEXT, "--context", "decisions", "--key", "paths", "--why", "no Windows users")
    return run


def paths(found):
    return [one["path"] for one in found["facts"]]


def test_x3_a_fact_is_recalled_with_its_author_and_reason(ask):
    found = ask("recall", "which paths", "--json")
    assert paths(found) == [PATH]
    assert TEXT in found["text"]
    assert found["tokens"] <= found["budget"] == 1500
    shown = ask("show", PATH, "--json")
    assert (shown["text"], shown["agent"], shown["why"]) == (TEXT, "user", "no Windows users")


def test_a_write_to_a_path_replaces_what_stood_there_and_the_ledger_has_both(ask):
    again = ("remember", TEXT, "--context", "decisions", "--key", "paths", "--json")
    assert ask(*again)["unchanged"]
    ask("remember", "Windows is supported", "--context", "decisions", "--key", "paths")
    assert TEXT not in ask("recall", "paths windows", "--json")["text"]
    changes = ask("blame", PATH, "--json")["changes"]
    assert [one["operation"] for one in changes] == ["replace", "add"]
    assert [one["text"] for one in changes] == ["Windows is supported", TEXT]


def test_x4_a_pinned_fact_is_in_every_recall_until_it_is_not(ask):
    assert paths(ask("recall", "weather", "--json")) == []
    ask("pin", PATH)
    found = ask("recall", "weather", "--json")
    assert (paths(found), found["pinned"]) == ([PATH], {"shown": 1, "total": 1})
    ask("unpin", PATH)
    assert paths(ask("recall", "weather", "--json")) == []


def test_x11_what_is_forgotten_is_in_no_recall_and_stays_in_the_log(ask):
    ask("forget", PATH, "--why", "it changed")
    assert paths(ask("recall", "paths", "--json")) == paths(ask("list", "--json")) == []
    newest = ask("log", "--limit", "1", "--json")["changes"][0]
    assert (newest["operation"], newest["path"], newest["why"]) == ("retract", PATH, "it changed")
    ask("show", PATH, code=2)


def test_the_users_facts_hold_in_every_project_and_a_projects_in_one(ask):
    ask("remember", "Answer in British English", "--scope", "user", "--key", "english")
    there = ask("recall", "english paths", "--json", project="there")
    assert paths(there) == ["/memory/general/english"]
    assert sorted(paths(ask("list", "--json"))) == [PATH, "/memory/general/english"]


def test_search_is_by_words_or_letter_by_letter_below_a_path(ask):
    assert paths(ask("search", "path", "--json")) == [PATH]
    assert paths(ask("search", "OSIX", "--json")) == []
    assert paths(ask("search", "OSIX", "--exact", "--json")) == [PATH]
    assert paths(ask("search", "path", "--prefix", "/memory/other", "--json")) == []


def test_x2_a_files_sections_are_primed_and_primed_again_only_where_they_differ(ask, user):
    guide = user.home.parent / "guide.md"
    guide.write_text("# Paths\n\nSlashes only.\n\n## Limits\n\nThree attempts.\n")
    first = ask("prime", str(guide), "--json")
    assert first["added"] == ["/memory/primed/guide.md/paths", "/memory/primed/guide.md/limits"]
    guide.write_text("# Paths\n\nSlashes only.\n\n## Limits\n\nFour attempts.\n")
    again = ask("prime", str(guide), "--json")
    assert [len(again[word]) for word in ("added", "changed", "removed", "same")] == [0, 1, 0, 1]
    assert "Four attempts." in ask("recall", "how many attempts", "--json")["text"]
    ask("prime", str(guide.parent / "none.md"), code=2)


def test_an_erased_text_is_in_no_file(ask, user):
    def holds():
        files = [f for f in user.home.parent.rglob("*.memory*") if f.is_file()]
        return any(TEXT.encode() in file.read_bytes() for file in files)

    ask("forget", PATH)
    assert holds()  # it is in the ledger
    assert ask("forget", PATH, "--erase", "--json")["paths"] == [PATH]
    assert not holds()
    ask("forget", "/memory/none", "--erase", code=2)


def test_a_similar_fact_is_named_with_the_way_to_replace_it(ask):
    found = ask("remember", "Paths are POSIX only, always", "--json")["similar"]
    assert [one["path"] for one in found] == [PATH]


def test_a_file_that_is_lost_is_read_from_its_last_snapshot_and_never_begun_anew(ask, user):
    ask("remember", "another")
    (file,) = user.home.parent.rglob("*.memory.sqlite3")
    for path in file.parent.glob(f"{file.name}*"):
        path.unlink()
    assert paths(ask("list", "--json")) == [PATH]
    ask("remember", "a third", code=1)
    assert not file.exists()


def test_a_secret_is_stored_nowhere(ask, user):
    written = ask("remember", f"the token is {SECRET}", "--json")
    assert written["redactions"] == 1
    stored = [file for file in user.home.parent.rglob("*.memory.sqlite3*") if file.is_file()]
    assert stored
    assert any(TEXT.encode() in file.read_bytes() for file in stored)  # a text is found so
    assert all(SECRET.encode() not in file.read_bytes() for file in stored)


@pytest.mark.parametrize(
    "words",
    [
        ("remember", ""),
        ("remember", " \n"),
        ("remember", "x", "--key", "../x"),
        ("remember", "x", "--confidence", "lots"),
        ("remember", "x", "--confidence", "1.5"),
        ("remember", "x", "--ttl", "soon"),
        ("remember", "x", "--scope", "world"),
        ("remember", "x", "--category", "guess"),
        ("remember", "x", "--supersedes", "mem-aaaaaaaa"),
        ("remember", "x" * 20_000),
        ("recall", "x", "--budget", "0"),
        ("recall", "x", "--budget", "1"),
        ("recall", "x", "--budget", "-5"),
        ("recall", "x", "--budget", "lots"),
        ("show", "nothing"),
        ("pin", "/memory/none"),
        ("forget", "mem-aaaaaaaa"),
        ("blame", "\udc80"),
        ("show", "/memory/\udc80"),
        ("blame", "/memory/\udc80"),
        ("pin", "/memory/\udc80"),
        ("forget", "/memory/\udc80"),
        ("forget", "/memory/\udc80", "--erase"),
        ("remember", "x", "--supersedes", "/memory/\udc80"),
        ("remember", "x", "--key", "\udc80"),
        ("remember", "\udc80"),
        ("frob",),
    ],
)
def test_what_cannot_be_taken_is_refused_and_writes_nothing(words, ask):
    before = ask("log", "--json")
    ask(*words, code=2)
    assert ask("log", "--json") == before


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "\udc80"),
        ("search", "\udc80"),
        ("search", "\udc80", "--exact"),
        ("list", "--prefix", "\udc80"),
        ("log", "--prefix", "\udc80"),
    ],
)
def test_a_query_that_is_no_valid_unicode_finds_nothing(words, ask):
    found = ask(*words, "--json")
    assert found.get("facts", found.get("changes")) == []
    assert paths(ask("recall", "paths \udc80", "--json")) == [PATH]


def test_x8_blame_knows_what_was_forgotten(ask):
    ask("forget", PATH)
    changes = ask("blame", PATH, "--json")["changes"]
    assert [one["operation"] for one in changes] == ["retract", "add"]


@pytest.mark.parametrize("words", [("list",), ("recall", "x"), ("search", "x"), ("log",)])
def test_a_project_without_facts_is_no_error(words, ask, user):
    ask(*words, project="there")
    assert len(list(user.home.parent.rglob("*.memory.sqlite3"))) == 1


def test_x13_the_users_own_facts_are_exported_and_imported_by_their_scope(ask, tmp_path):
    file = tmp_path / "mine.json"
    assert "no facts yet" in ask("export", "--scope", "user", code=2)
    ask("remember", "Answer in short sentences.", "--scope", "user", "--key", "style")
    ask("pin", "style")
    ask("export", "--scope", "user", "-o", str(file))
    assert TEXT not in file.read_text()
    section = ask("export", "--scope", "user", "--format", "claude-md")
    assert "### Pinned\n\n- Answer in short sentences." in section
    ask("forget", "style", "--erase")
    told = ask("import", str(file), "--scope", "user", "--json", project="there")
    assert told["added"] == told["not_pinned"] == ["/memory/general/style"]
    shown = ask("show", "style", "--json")  # in every project, since it is the user's
    assert (shown["text"], shown["scope"], shown["pinned"]) == (
        "Answer in short sentences.",
        "user",
        False,
    )
    assert len(ask("import", str(file), "--scope", "user", "--json")["same"]) == 1
    assert paths(ask("list", "--json")) == [PATH, "/memory/general/style"]


@pytest.mark.parametrize("scope", ["project", "user"])
def test_x13_an_import_leaves_out_what_is_of_another_scope_and_says_what_takes_it(
    ask, tmp_path, scope
):
    file, other = tmp_path / "facts.json", {"project": "user", "user": "project"}[scope]
    ask("remember", "Of the user.", "--scope", "user", "--key", "mine")
    ask("export", "--scope", other, "-o", str(file))
    told = ask("import", str(file), "--scope", scope, "--json", project="there")
    assert told["added"] == told["changed"] == []
    (left,) = told["left_out"]
    assert f"with --scope {other}" in left


def test_a_claude_md_of_ones_own_becomes_the_users_facts(ask, tmp_path):
    file = tmp_path / "CLAUDE.md"
    file.write_text("# Style\n\n- Answer in short sentences.\n- Use British spelling.\n")
    ask("import", str(file), "--scope", "user", project="there")
    found = ask("list", "--prefix", "/memory/CLAUDE.md", "--json")["facts"]
    assert [one["text"] for one in found] == ["Answer in short sentences.", "Use British spelling."]
    assert {one["scope"] for one in found} == {"user"}
