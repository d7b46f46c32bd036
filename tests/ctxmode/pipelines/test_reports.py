"""A run of a pipeline as machines and people read it."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from ctxmode.pipelines import reports
from ctxmode.pipelines.model import CaseStatus, Outcome, Pipeline, PipelineReport
from ctxmode.pipelines.running import LINES_SHOWN, cut_output
from tests.ctxmode.runner_logs import COMMANDS, HARMLESS, github

REPORT = PipelineReport(
    Pipeline("all", "ci/all.toml", ()),
    (
        Outcome("a", "a", 3, CaseStatus.PASSED, wall_s=1.5, output="fine", tier="A"),
        Outcome(
            "b (x=1)", "b", 9, CaseStatus.FAILED, "exit 1", 1, 0.5, "50 %\n\x1b[31m```|<&>", "A"
        ),
        Outcome("c", "c", 12, CaseStatus.SKIPPED, "it needs b"),
    ),
    2.0,
    "A",
)


def test_junit_counts_and_holds_whatever_was_printed():
    suite = ElementTree.fromstring(reports.junit(REPORT))[0]
    assert {k: suite.get(k) for k in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    failure = suite[1][0]
    assert (failure.tag, failure.get("message")) == ("failure", "exit 1")
    assert failure.text == "50 %\n\ufffd[31m```|<&>"
    assert suite[1].get("line") == "9"


def test_markdown_fences_output_that_has_fences():
    text = reports.markdown(REPORT)
    assert "| b (x=1) | FAILED | 0.50 s | exit 1 |" in text
    assert "\n````\n50 %" in text
    assert text.endswith("<details><summary>a</summary>\n\n```\nfine\n```\n\n</details>\n")


def test_annotations_point_at_the_line_on_one_line_each():
    (one,) = reports.github(REPORT)
    assert one.startswith("::error file=ci/all.toml,line=9,title=b (x=1)::exit 1%0A50 %25%0A")
    assert "\n" not in one


@pytest.mark.parametrize("text", [*COMMANDS, *HARMLESS])
def test_an_annotation_is_one_command_whatever_its_texts_are(text):
    printed = (COMMANDS | HARMLESS)[text] + "\x00\x1b]0;title\x07"
    outcome = replace(REPORT.outcomes[1], name=printed, reason=printed, output=printed)
    report = replace(REPORT, outcomes=(outcome,), pipeline=Pipeline(printed, printed, ()))
    (one,) = reports.github(report)
    (obeyed,) = github(one)
    assert obeyed.startswith("error:")
    assert not re.search(r"[\x00-\x08\n-\x1f\x7f]", one)
    fields = one.removeprefix("::error ").partition("::")[0].split(",")
    assert [field.partition("=")[0] for field in fields] == ["file", "line", "title"]
    assert not re.search(r"[\x00\x1b\x07]", reports.markdown(report))


@pytest.mark.parametrize("text", COMMANDS)
def test_github_obeys_nothing_of_an_output_and_then_goes_on(text):
    texts = [reports.without_commands(COMMANDS[text] + end) for end in ("", "\n", "\r", "\n::")]
    log = "\n".join([*texts, "::notice::ours"])
    assert github(log) == ["notice:ours"]
    tokens = re.findall(r"^::stop-commands::(.+)$", log, re.MULTILINE)
    assert len({token for token in tokens if len(token) >= 32}) == len(texts)


def test_the_summary_names_the_tier():
    assert reports.summary(REPORT) == "1 passed, 1 failed, 1 skipped in 2.00 s, sandbox tier A."


def test_an_outcome_survives_its_json():
    for outcome in REPORT.outcomes:
        assert Outcome.from_json(outcome.to_json()) == outcome


def test_only_the_end_of_what_was_said_is_shown_errors_first():
    many = "".join(f"{n}\n" for n in range(100))
    assert cut_output(many, "").splitlines() == [str(n) for n in range(100 - LINES_SHOWN, 100)]
    assert cut_output(many, "wrong\n").splitlines()[-1] == "wrong"
    assert len(cut_output(many, many).splitlines()) == LINES_SHOWN
