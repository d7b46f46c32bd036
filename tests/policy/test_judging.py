"""One judging for all who ask: the same decision everywhere, in time, and never an exception."""

from __future__ import annotations

import errno
import itertools
import os
from functools import partial
from pathlib import Path

import pytest

import policy
from policy import Decision, Rules, Subject, Verdict, grammars, judge, judging
from policy.cases import read_cases, subject_of
from policy.claude import Anchors, parse_rule
from policy.decide import evaluate
from policy.explanation import explain
from policy.judging import in_time
from policy.model import RuleSource

CASES = Path(__file__).with_name("cases")
HOME, PROJECT = Path("/home/user"), Path("/home/user/project")
TABLES = ("shell.tsv", "programs.tsv", "known_misses.tsv")


def rules(*texts: str, default: Decision = Decision.ALLOW) -> Rules:
    anchors = Anchors(str(HOME), str(PROJECT), str(PROJECT))
    pairs = (text.partition(" ") for text in texts)
    parsed = (
        parse_rule(spec, Decision[word.upper()], RuleSource("s", 1), anchors)[0]
        for word, _, spec in pairs
    )
    return Rules(tuple(filter(None, parsed)), default=default)


def shell(code: str) -> Subject:
    return Subject("shell", code, str(PROJECT), str(PROJECT), str(HOME))


def in_time_of(subjects: list[Subject], rules: Rules, report=repr) -> list[Verdict]:
    return in_time(subjects, rules, partial(judge, rules=rules), report, Verdict)


@pytest.fixture
def endless(monkeypatch):
    """To judge a text with LOOP in it takes for ever, in C; RAISE shows a defect."""
    analyse = judging.analyse

    def analysed(subject, texts):
        if "LOOP" in subject.code:
            sum(itertools.repeat(0))
        if "RAISE" in subject.code:
            raise KeyError("a defect")
        return analyse(subject, texts)

    monkeypatch.setattr(judging, "analyse", analysed)
    monkeypatch.setattr(judging, "SECONDS", 0.2)


def subjects(table: str) -> list[Subject]:
    return [subject_of(case, HOME, PROJECT) for case in read_cases(CASES / table)]


OF_CASES = policy.load_file(CASES / "rules.json", project=PROJECT, home=HOME)


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_are_decided_alike_with_scripts_and_without_and_explained_so(table: str) -> None:
    differing = []
    for subject in subjects(table):
        bare = evaluate(subject, OF_CASES).decision
        judged = judge(subject, OF_CASES, on_disk=False).decision
        explained = explain(subject, OF_CASES, on_disk=False).verdict.decision
        if not bare == judged == explained:
            differing.append((subject.code, bare, judged, explained))
    assert differing == []


def test_the_scripts_of_a_project_are_read_and_links_followed(tmp_path: Path) -> None:
    (tmp_path / "deploy.sh").write_text("sudo id\n")
    (tmp_path / "notes").symlink_to(".env")
    some = rules("deny Bash(sudo *)", "deny Read(//**/.env)")
    for code in ("./deploy.sh", "bash deploy.sh", "cat notes"):
        subject = Subject("shell", code, str(tmp_path), str(tmp_path), "/home/u")
        assert judge(subject, some).decision is Decision.DENY, code
        assert explain(subject, some).verdict.decision is Decision.DENY
        assert [one.decision for one in in_time_of([subject], some)] == [Decision.DENY]
        assert judge(subject, some, on_disk=False).allowed


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("deny Bash(x)", "ask Bash(y)"), Decision.DENY),
        (("ask Bash(y)", "deny Bash(x)"), Decision.DENY),
        (("ask Bash(y)",), Decision.ASK),
        (("deny Read(//**/.env)",), Decision.DENY),
        (("ask Edit(src/**)",), Decision.ASK),
        (("deny WebFetch(domain:evil.example)",), Decision.DENY),
        (("deny mcp__github__merge", "allow Bash(a)"), Decision.ALLOW),
        ((), Decision.ALLOW),
    ],
)
@pytest.mark.usefixtures("endless")
def test_what_takes_too_long_is_decided_by_the_strictest_rule(
    texts: tuple[str, ...], expected: Decision
) -> None:
    (verdict,) = in_time_of([shell("LOOP")], rules(*texts))
    assert verdict.decision is expected
    assert verdict.coverage == "unparsed"
    assert "too large to be understood" in verdict.message


@pytest.mark.usefixtures("endless")
def test_what_takes_too_long_is_asked_about_where_asking_is_the_default() -> None:
    (verdict,) = in_time_of([shell("LOOP")], rules(default=Decision.ASK))
    assert verdict.decision is Decision.ASK


@pytest.mark.usefixtures("endless")
def test_the_others_are_judged_as_ever() -> None:
    codes = ["x", "LOOP", "ls", "LOOP", "LOOP", "x", "RAISE", "ls", "LOOP"]
    verdicts = in_time_of(list(map(shell, codes)), rules("deny Bash(x)"))
    assert [verdict.decision.word for verdict in verdicts] == [
        "deny", "deny", "allow", "deny", "deny", "deny", "deny", "allow", "deny",
    ]  # fmt: skip
    assert in_time_of([], rules()) == []


@pytest.mark.usefixtures("endless")
@pytest.mark.parametrize("texts", [("deny Read(.env)",), ()])
def test_a_defect_is_reported_and_named_whatever_is_decided(texts: tuple[str, ...]) -> None:
    def report(error: Exception) -> str:
        return f"a defect: {error!r}\n  the story\n"

    (verdict,) = in_time_of([shell("RAISE")], rules(*texts), report=report)
    assert verdict.decision is (Decision.DENY if texts else Decision.ALLOW)
    assert "could not be judged: a defect: KeyError('a defect') the story" in verdict.message


def test_without_a_process_the_strictest_rule_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise BlockingIOError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(os, "fork", fail)
    descriptors = os.listdir("/proc/self/fd")
    verdicts = in_time_of([shell("ls"), shell("id")], rules("deny Read(./.env)"))
    assert [verdict.decision for verdict in verdicts] == [Decision.DENY] * 2
    assert "no more processes" in verdicts[0].message
    assert os.listdir("/proc/self/fd") == descriptors


@pytest.mark.parametrize("text", ["deny Read(./.env)", "deny Edit(/a)", "ask WebFetch(domain:a.b)"])
@pytest.mark.parametrize("code", ["cat .env\nif", "cat .env #" + "x" * (1 << 20)])
def test_what_is_not_read_breaks_any_rule_where_nothing_covers_files(code: str, text: str) -> None:
    on_shell = shell(code)._replace(surface="agent_shell")
    assert judge(on_shell, rules(text)).decision.word == text.split(maxsplit=1)[0]
    assert judge(shell(code), rules(text)).allowed


HARD = {
    "an awk program that is empty": "awk '' .",
    "lone surrogates": "cat \ud800 '\udfff' \"\udc80\" <\ud900 >\udbff; echo $'\\ud800' | sh",
    "NUL": "cat a\0b\0; e\0cho 'x\0'",
    "three hundred patterns": "cat " + "*.py " * 300,
    "folders of patterns": "cat " + "*/" * 300 + "x",
    "a long word": "cat " + "x" * 200_000,
    "many words": "cat " + "a " * 50_000,
    "many lines joined": "cat \\\n" * 20_000,
    "nested subshells": "(" * 3_000 + "id" + ")" * 3_000,
    "nested substitutions": "$(" * 3_000 + "id" + ")" * 3_000,
    "nested braces": "echo " + "{" * 3_000 + "}" * 3_000,
    "nested defaults": "echo " + "${x:-" * 2_000 + "y" + "}" * 2_000,
    "a program in a program": "env " * 3_000 + "id",
    "many commands": "true;" * 20_000,
    "deeper and deeper": "cd a;" * 5_000,
    "ten megabytes": "cat .env #" + "x" * (10 << 20),
}


@pytest.mark.parametrize("code", HARD.values(), ids=HARD)
def test_a_text_that_is_hard_on_us_is_judged_without_a_defect(code: str, monkeypatch) -> None:
    # A busy machine may need longer; what happens when time runs out has its own tests.
    monkeypatch.setattr(judging, "SECONDS", 30.0)
    monkeypatch.setattr(grammars, "PARSE_SECONDS_MAX", 10.0)

    def fail(error: Exception) -> str:
        raise AssertionError(repr(error)) from error

    some = rules("deny Read(./.env)", "deny Read(**/*.pem)", "deny Bash(rm -rf *)")
    before = judge(shell(code), some)
    (verdict,) = in_time_of([shell(code)], some, report=fail)
    assert isinstance(verdict, Verdict)
    assert verdict.decision is before.decision
