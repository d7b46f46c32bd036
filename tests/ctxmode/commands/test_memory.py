"""The verb `memory`, as a person calls it."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

from ctxmode import cli

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def ask(place, capsys):
    """Run one action; what it prints, as data where --json is said."""

    def run(*words, code=0):
        assert cli.main(["memory", *map(str, words)]) == code
        shown = capsys.readouterr()
        return json.loads(shown.out) if "--json" in words and code != 2 else shown.out + shown.err

    return run


def facts(ask, *words):
    return {one["path"]: one["text"] for one in ask("list", *words, "--json")["facts"]}


def expire_all(place):
    (file,) = (place.parent / "data" / "projects").glob("project-*.memory.sqlite3")
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE change SET expires_at = 1 WHERE expires_at IS NOT NULL")
        db.execute("UPDATE live SET expires_at = 1 WHERE expires_at IS NOT NULL")
    db.close()


def test_what_is_remembered_is_recalled_listed_and_shown(ask):
    more = ("-t", "a", "-t", "b", "-i", "high", "--why", "It broke.", "--category", "decide")
    written = ask("remember", "Deploys go through staging.", "--key", "deploy", *more, "--json")
    assert written["path"] == "/memory/general/deploy"
    assert "Deploys go through staging." in ask("recall", "staging")
    shown = ask("show", "deploy", "--json")
    assert (shown["id"], shown["tags"], shown["confidence"]) == (written["id"], ["a", "b"], 0.95)
    assert (shown["why"], shown["category"], shown["agent"]) == ("It broke.", "decide", "user")
    assert facts(ask) == {"/memory/general/deploy": "Deploys go through staging."}
    assert facts(ask, "--prefix", "/memory/other") == {}


def test_a_text_comes_from_stdin_and_its_secrets_stay_out(ask, monkeypatch, tmp_path):
    file = tmp_path / "text"
    file.write_text(f"The token is {SECRET}.")
    with file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        told = ask("remember", "-", "--key", "token", "--json")
    assert told["redactions"] == 1
    assert SECRET not in json.dumps(ask("show", "token", "--json"))


def test_a_fact_of_the_user_is_recalled_in_every_project(ask, tmp_path, monkeypatch):
    ask("remember", "Answer in short sentences.", "--scope", "user", "--key", "style")
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    ask("remember", "Only of here.", "--key", "here")
    monkeypatch.chdir(other)
    text = ask("recall")
    assert "short sentences" in text
    assert "Only of here." not in text


def test_x5_a_recall_keeps_to_its_budget_and_refuses_one_that_holds_nothing(ask):
    for number in range(30):
        ask("remember", f"Deploy number {number} goes through staging.", "--key", f"d{number}")
    found = ask("recall", "deploy staging", "--budget", "200", "--json")
    assert 0 < found["matches"]["shown"] < found["matches"]["total"] == 30
    assert found["tokens"] <= 200
    assert ask("recall", "deploy", "--json")["budget"] == 1500
    assert "at least" in ask("recall", "deploy", "--budget", "0", code=2)


def test_x6_ctxones_numbers_are_given_in_its_format_alone(ask):
    ask("remember", "Deploys go through staging.")
    found = ask("recall", "staging", "--json")
    assert not [name for name in found if name.startswith("ctx_")]
    assert set(found["counterfactual"]) == {"assumes", "tokens", "ratio"}
    assert cli.main(["memory", "recall", "staging", "--format", "ctxone"]) == 0


def test_x6_the_format_of_ctxone_has_its_three_numbers(ask, capsys):
    ask("remember", "Deploys go through staging.")
    cli.main(["memory", "recall", "staging", "--format", "ctxone"])
    told = json.loads(capsys.readouterr().out)
    assert told["topic_matches"] == len(told["results"]) == 1
    sent, flat = told["ctx_tokens_sent"], told["ctx_tokens_estimated_flat"]
    assert told["ctx_savings_ratio"] == round(flat / sent, 2)


def test_x7_a_branch_is_written_compared_and_merged(ask):
    ask("remember", "Deploys go through staging.", "--key", "deploy")
    ask("branch", "try")
    ask("remember", "Deploys go straight out.", "--key", "deploy", "--branch", "try")
    assert facts(ask) != facts(ask, "--branch", "try")
    (row,) = ask("diff", "main", "try", "--json")["paths"]
    assert (row["status"], row["b"]) == ("changed", "Deploys go straight out.")
    assert ask("merge", "try", "--json")["merged"] == ["/memory/general/deploy"]
    assert facts(ask) == {"/memory/general/deploy": "Deploys go straight out."}
    assert {one["name"] for one in ask("branch", "--json")["branches"]} == {"main", "try"}


def test_x7_a_branch_is_named_before_the_action_or_behind_it_and_merged_into_another(ask):
    ask("branch", "one")
    ask("--branch", "one", "remember", "Of one.", "--key", "a")
    ask("branch", "two")
    assert "Of one." not in ask("recall", "one", "--branch", "two")
    told = ask("merge", "one", "--into", "two", "--json")
    assert (told["into"], told["merged"]) == ("two", ["/memory/general/a"])
    assert "Of one." in ask("--branch", "two", "recall", "one")
    assert facts(ask) == {}
    assert "--branch is given twice" in ask("--branch", "one", "list", "--branch", "two", code=2)
    assert "stats takes no --branch" in ask("--branch", "one", "stats", code=2)
    assert "merge takes no --branch" in ask("--branch", "one", "merge", "two", code=2)


def test_x2_a_text_from_stdin_is_primed_under_the_source_that_is_given(ask, monkeypatch, tmp_path):
    file = tmp_path / "text.md"
    file.write_text("# Auth\n\nTokens expire.\n")
    with file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        ask("prime", "-", "--source", "api", "--pin")
    assert facts(ask) == {"/memory/pinned/api/auth": "Tokens expire."}
    with file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert ask("prime", "-", "--json")["added"] == ["/memory/primed/stdin/auth"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        *(("ls", "list"), ("get", "show"), ("pinned", "recall"), ("why-did-we", "blame")),
        *(("add", "remember"), ("update", "remember"), ("decision", "--category decide")),
    ],
)
def test_x11_o13_a_word_of_another_system_is_told_by_ours(ask, word, meant):
    assert f"{meant}" in ask(word, "x", code=2).partition("Use: ")[2]


def test_x7_a_conflict_writes_nothing_exits_with_1_and_is_resolved_by_a_side(ask):
    ask("remember", "One.", "--key", "a")
    ask("branch", "try")
    ask("remember", "Two.", "--key", "a", "--branch", "try")
    ask("remember", "Three.", "--key", "a")
    (conflict,) = ask("merge", "try", "--json", code=1)["conflicts"]
    texts = [conflict[side] for side in ("base", "ours", "theirs")]
    assert texts == ["One.", "Three.", "Two."]
    assert facts(ask) == {"/memory/general/a": "Three."}
    ask("merge", "try", "--take", "/memory/general/a=theirs")
    assert facts(ask) == {"/memory/general/a": "Two."}


def test_a_dropped_branch_takes_no_more_writes(ask):
    ask("branch", "try")
    ask("branch", "try", "--drop")
    ask("remember", "One.", "--branch", "try", code=2)


def test_a_file_is_primed_and_its_sections_are_kept_in_step(ask, place):
    file = place / "RULES.md"
    file.write_text("# Rules\n\nBe kind.\n\n## Style\n\nTabs.\n")
    assert len(ask("prime", file, "--json")["added"]) == 2
    assert len(ask("prime", file, "--json")["same"]) == 2
    file.write_text("# Rules\n\nBe kinder.\n")
    told = ask("prime", file, "--pin", "--source", "RULES.md", "--json")
    assert (len(told["added"]), len(told["removed"])) == (1, 2)
    assert ask("recall", "--json")["pinned"] == {"shown": 1, "total": 1}


def test_x11_what_is_pinned_begins_each_recall_until_it_is_unpinned(ask):
    ask("remember", "Be kind.", "--key", "kind")
    ask("pin", "kind", "--why", "always")
    assert ask("recall", "--json")["facts"][0]["pinned"]
    ask("unpin", "kind")
    assert ask("recall", "--json")["pinned"]["total"] == 0


def test_x11_what_is_forgotten_stays_in_the_ledger_and_what_is_erased_does_not(ask):
    ask("remember", "The old way.", "--key", "old")
    ask("remember", "A slip of the tongue.", "--key", "slip")
    ask("forget", "old", "--reason", "it is over")
    ask("forget", "slip", "--erase")
    assert facts(ask) == {}
    log = ask("log", "--json")["changes"]
    assert "The old way." in [one["text"] for one in log]
    assert "it is over" in [one["why"] for one in log]
    assert "slip of the tongue" not in json.dumps(log)


def test_x11_blame_and_log_tell_who_wrote_what_the_latest_first(ask):
    ask("remember", "One.", "--key", "a", "--why", "first")
    ask("remember", "Two.", "--key", "a", "--why", "second")
    changes = ask("blame", "a", "--json")["changes"]
    assert [one["why"] for one in changes] == ["second", "first"]
    assert len(ask("log", "--limit", "1", "--json")["changes"]) == 1
    assert "second" in ask("log")


def test_x11_a_search_is_below_a_prefix_and_by_the_letter(ask):
    ask("remember", "Start the service.", "--key", "service", "--context", "ops")
    ask("remember", "Art is long.", "--key", "art")
    paths = [one["path"] for one in ask("search", "tart the", "--exact", "--json")["facts"]]
    assert paths == ["/memory/ops/service"]
    assert ask("search", "art", "--prefix", "/memory/ops", "--json")["facts"] == []
    assert len(ask("search", "art", "--json")["facts"]) == 1


def test_expired_facts_are_in_no_recall_and_are_listed_when_asked_for(ask, place):
    ask("remember", "For a moment.", "--key", "moment", "--ttl", "1s")
    expire_all(place)
    assert facts(ask) == {}
    assert list(facts(ask, "--expired")) == ["/memory/general/moment"]
    assert "moment" not in ask("recall", "moment").partition("context-mode:")[0]


def test_x9_stats_part_what_was_measured_from_what_was_not(ask):
    ask("remember", "Deploys go through staging.")
    before = ask("stats", "--json")["measured"]
    ask("recall", "staging")
    told = ask("stats", "--json")
    measured = told["measured"]
    assert (before["recalled_bytes"], measured["facts"]) == (0, 1)
    assert measured["recalled_bytes"] > 0
    assert set(told["counterfactual"]).isdisjoint(measured)
    text = ask("stats")
    assert text.index("Measured") < text.index("Hypothetical")


def test_a_backup_is_a_new_file_of_the_same_facts(ask, place):
    ask("remember", "Deploys go through staging.")
    assert ask("backup", place / "copy.sqlite3", "--json")["bytes"] > 0
    assert "exists" in ask("backup", place / "copy.sqlite3", code=2)
    ask("backup", place / "nowhere" / "copy.sqlite3", code=2)


BAD = {
    "empty": ("remember", ""),
    "blank": ("remember", " \n\t "),
    "only what is not seen": ("remember", "\u200b\u202e\x00"),
    "too long": ("remember", "x" * 17_000),
    "2 MiB": ("remember", "x" * (2 << 20)),
    "a path upwards": ("remember", "x", "--key", "../x"),
    "a path elsewhere": ("remember", "x", "--key", "/etc/passwd"),
    "a control character in the key": ("remember", "x", "--key", "a\x00b"),
    "a lone surrogate in the key": ("remember", "x", "--key", "\ud800"),
    "a confidence": ("remember", "x", "--confidence", "2"),
    "no confidence": ("remember", "x", "--confidence", "nan"),
    "a category": ("remember", "x", "--category", "guess"),
    "a scope": ("remember", "x", "--scope", "galaxy"),
    "a time": ("remember", "x", "--ttl", "soon"),
    "no time": ("remember", "x", "--ttl", "0d"),
    "a long title": ("remember", "x", "--title", "x" * 300),
    "an unknown branch": ("remember", "x", "--branch", "nope"),
    "an unknown fact superseded": ("remember", "x", "--supersedes", "mem-aaaaaaaa"),
    "no budget": ("recall", "x", "--budget", "0"),
    "a negative budget": ("recall", "x", "--budget", "-5"),
    "lots": ("recall", "x", "--budget", "lots"),
    "a recall's branch": ("recall", "x", "--branch", "nope"),
    "a search for nothing": ("search", " "),
    "a limit": ("search", "x", "--limit", "-1"),
    "an unknown fact": ("show", "mem-aaaaaaaa"),
    "no fact": ("show", ""),
    "a fact upwards": ("forget", "../x"),
    "an unknown fact erased": ("forget", "nope", "--erase"),
    "an unknown fact pinned": ("pin", "nope"),
    "a branch's name": ("branch", "../x"),
    "main": ("branch", "main"),
    "main dropped": ("branch", "main", "--drop"),
    "a branch's parent": ("branch", "x", "--from", "nope"),
    "branches compared": ("diff", "main", "nope"),
    "a branch merged": ("merge", "nope"),
    "a branch into itself": ("merge", "main"),
    "a side": ("merge", "main", "--take", "mine"),
    "a missing file": ("prime", "nope.md"),
    "a folder": ("prime", "."),
    "no text of UTF-8": ("prime", "latin.md"),
    "nothing in it": ("prime", "empty.md"),
    "a pipe": ("prime", "pipe"),
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD)
def test_x12_bad_input_ends_with_the_houses_exit_code_and_writes_nothing(ask, place, words):
    (place / "latin.md").write_bytes(b"caf\xe9")
    (place / "empty.md").write_bytes(b"")
    os.mkfifo(place / "pipe")
    ask("remember", "What stands.", "--key", "stands")
    before = ask("log", "--branch", "main", "--json"), ask("branch", "--json")
    shown = ask(*words, code=2)
    assert "Traceback" not in shown
    assert shown.strip()
    assert (ask("log", "--branch", "main", "--json"), ask("branch", "--json")) == before


def test_a_purge_touches_facts_only_when_it_says_so_and_only_expired_ones(ask, place, capsys):
    ask("remember", "For a moment.", "--key", "moment", "--ttl", "30d")
    ask("remember", "For good.", "--key", "good")
    expire_all(place)
    assert cli.main(["kept", "rm", "--all", "--yes"]) == 0
    capsys.readouterr()
    assert list(facts(ask, "--expired")) == ["/memory/general/moment"]
    assert cli.main(["kept", "rm", "--kind", "fact", "--source", "x"]) == 2
    capsys.readouterr()
    assert cli.main(["kept", "rm", "--kind", "fact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"facts": ["/memory/general/moment"]}
    assert facts(ask, "--expired") == {}
    assert list(facts(ask)) == ["/memory/general/good"]


def test_x13_facts_are_exported_and_imported_elsewhere(ask, place, tmp_path):
    ask("remember", "Deploys go through staging.", "--key", "deploy", "--title", "Deploys")
    ask("pin", "deploy")
    file = tmp_path / "facts.json"
    ask("export", "-o", file)
    exported = json.loads(file.read_text())
    assert "exists" in ask("export", "-o", file, code=2)
    ask("forget", "deploy", "--erase")
    told = ask("import", file, "--json")
    assert (told["added"], told["not_pinned"]) == (["/memory/general/deploy"],) * 2
    assert "same 1" in ask("import", file)
    assert not ask("show", "deploy", "--json")["pinned"]
    ask("import", file, "--pins")
    assert json.loads(ask("export"))["facts"][0]["text"] == exported["facts"][0]["text"]
    assert "> Deploys go through staging." in ask("export", "--format", "md")


def test_a_section_of_a_claude_md_is_written_in_its_place(ask, tmp_path):
    agents, file = tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md"
    agents.write_bytes(b"# Mine\r\nNot UTF-8: \xff\r\n")
    file.symlink_to(agents)
    ask("remember", "It rains", "--key", "a")
    for text in ("It rains", "It snows"):
        ask("remember", text, "--key", "a")
        ask("export", "--format", "claude-md", "-o", file)
        data = agents.read_bytes()
        assert data.startswith(b"# Mine\r\nNot UTF-8: \xff\r\n")
        assert data.count(b"- It ") == 1
        assert text.encode() in data
    assert file.is_symlink()


@pytest.mark.parametrize("words", [("nowhere.json",), (".",), ("bad.json",), ("no-utf8",)])
def test_what_cannot_be_imported_is_refused(ask, place, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"facts": [], "facts": []}')
    (tmp_path / "no-utf8").write_bytes(b"\xff\xfe")
    assert "context-mode" in ask("import", *words, code=2)
