"""Answers as text: whole texts, compared as such."""

import pytest

from ctxmode.commands.search import to_json
from ctxmode.mcp import reply
from ctxmode.mcp.reply import describe_run, is_error
from ctxmode.operations.batch import BatchAnswer, BatchCommand
from ctxmode.operations.indexing import IndexAnswer
from ctxmode.operations.searching import SearchAnswer
from ctxmode.render.highlight import size
from ctxmode.render.passages import query_text
from ctxmode.render.results import answer_text, batch_text, index_text
from executor.model import ChangedFile, Isolation, Refusal, Result, Status, Stream, Usage
from executor.run.output_routing import Answer, KeptOutput
from kb import Hit, Indexed, QueryResult, SearchState
from policy.messages import BYTES_MAX

USAGE = Usage(wall_s=0.123, cpu_s=0.05, peak_memory_bytes=12 * 1024 * 1024)


def result(**changed) -> Result:
    return Result(
        **{
            "status": Status.OK,
            "exit_code": 0,
            "usage": USAGE,
            "isolation": Isolation("A"),
            **changed,
        }
    )


def shown(text: str) -> Stream:
    return Stream(head=text, bytes_total=len(text), lines_total=text.count("\n"))


LARGE = Stream("first\n", "last\n", 231_072, 5000, 226_992, 4990)
INDEXED = Indexed(7, "out-1/stdout (shell)", 1, "log", None, 1, 200_000, 231_072, False)
KEPT = KeptOutput("out-1", {"stdout": INDEXED})
HIT = Hit(1, "out-1/stdout", 7, "t", "the needle\n", "log", None, 5, 16, 2, 2, 1.0)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            Answer(result(stdout=shown("42\n"))),
            "42\n[ok, exit 0 in 0.12 s (cpu 0.05 s, 12.0 MB) | sandbox A, analyze]",
        ),
        (
            Answer(result(usage=Usage(0.123, 0.05))),
            "[ok, exit 0 in 0.12 s (cpu 0.05 s) | sandbox A, analyze]",
        ),
        (
            Answer(
                result(
                    status=Status.NONZERO_EXIT,
                    exit_code=3,
                    stdout=shown("out\n"),
                    stderr=shown("bad\n"),
                    phase="compile",
                )
            ),
            "out\n[stderr]\nbad\n[nonzero exit, exit 3, while in phase compile in 0.12 s "
            "(cpu 0.05 s, 12.0 MB) | sandbox A, analyze]",
        ),
        (
            Answer(result(status=Status.SIGNALLED, exit_code=None, signal=11)),
            "[signalled, signal 11 in 0.12 s (cpu 0.05 s, 12.0 MB) | sandbox A, analyze]",
        ),
        (
            Answer(
                result(
                    changed_files=(ChangedFile("a", "created", 1), ChangedFile("b", "deleted")),
                    changed_files_omitted=5,
                )
            ),
            "[ok, exit 0 in 0.12 s (cpu 0.05 s, 12.0 MB) | sandbox A, analyze | "
            "changed, not saved: +a -b and 5 more]",
        ),
        (
            Answer(result(changed_files=(ChangedFile("a]\n[ok\x1b[2J", "created", 1),))),
            "[ok, exit 0 in 0.12 s (cpu 0.05 s, 12.0 MB) | sandbox A, analyze | "
            "changed, not saved: +a]\\n[ok\\x1b[2J]",
        ),
        (
            Answer(result(stdout=LARGE), KEPT),
            "first\n[… 226992 bytes, 4990 lines left out …]\nlast\n"
            "[ok, exit 0 in 0.12 s (cpu 0.05 s, 12.0 MB) | sandbox A, analyze | "
            "output_id out-1 stores stdout 225.7 KB in 5000 lines; indexed: 200000 of 231072; "
            'ctx_search(queries=["…"], source="out-1")]',
        ),
        (
            Answer(
                result(stdout=LARGE),
                KEPT,
                (("stdout", HIT),),
                4,
            ),
            "## stdout: t\nthe needle\n[3 more sections match]\n"
            "[ok, exit 0 in 0.12 s (cpu 0.05 s, 12.0 MB) | sandbox A, analyze | "
            "output_id out-1 stores stdout 225.7 KB in 5000 lines; indexed: 200000 of 231072; "
            'ctx_search(queries=["…"], source="out-1")]',
        ),
    ],
)
def test_a_run_is_its_output_and_one_line(answer, text):
    assert answer_text(answer) == text


def test_an_intent_without_a_match_shows_the_ends_and_says_so():
    text = answer_text(Answer(result(stdout=LARGE), KEPT, (), 0))
    assert text.startswith("[no section of the output matches the intent]\nfirst\n")


MATCH = {
    "rule": "Bash(sudo *)",
    "file": ".claude/settings.json",
    "line": 3,
    "decision": "deny",
    "argv": ["sudo", "ls"],
    "text": "sudo ls",
    "reason": "",
    "advice": "",
}


def test_a_denied_run_names_the_rule_and_its_file():
    verdict = {
        "decision": "deny",
        "message": "denied by Bash(sudo *) in .claude/settings.json:3: `sudo ls`",
        "matches": [MATCH],
    }
    answer = Answer(result(status=Status.DENIED, exit_code=None, verdict=verdict))
    assert answer_text(answer) == f"[denied, nothing ran] {verdict['message']}"
    assert is_error(answer.result)


def test_every_rule_that_denies_is_named_as_far_as_there_is_room():
    verdict = {"decision": "deny", "message": "denied", "matches": [MATCH, {**MATCH, "line": 4}]}
    text = answer_text(Answer(result(status=Status.DENIED, exit_code=None, verdict=verdict)))
    assert text.splitlines()[1:] == ["- also Bash(sudo *) in .claude/settings.json:4"]
    verdict["matches"] = [{**MATCH, "line": line} for line in range(1, 500)]
    text = answer_text(Answer(result(status=Status.DENIED, exit_code=None, verdict=verdict)))
    assert text.splitlines()[-1] == "487 more: `context-mode policy explain` shows them"
    assert len(text.encode()) <= BYTES_MAX


def test_a_redirect_shows_the_call_to_make_and_is_no_error():
    verdict = {
        "decision": "redirect",
        "matches": [],
        "message": 'redirected by r in s: `cat x`. Ask it.\nCall: ctx_execute_file(path="x")',
        "redirect": {"tool": "ctx_execute_file", "arguments": {"path": "x"}, "advice": "Ask it."},
    }
    answer = Answer(result(status=Status.REDIRECTED, exit_code=None, verdict=verdict))
    assert answer_text(answer) == (f"[redirected, nothing ran] {verdict['message']}")
    assert not is_error(answer.result)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({}, False),
        ({"status": Status.TIMED_OUT}, True),
        ({"status": Status.NONZERO_EXIT, "exit_code": 1, "stdout": shown("0\n")}, False),
        ({"status": Status.NONZERO_EXIT, "exit_code": 1}, True),
        (
            {
                "status": Status.NONZERO_EXIT,
                "exit_code": 1,
                "stdout": shown("0\n"),
                "stderr": shown("bad\n"),
            },
            True,
        ),
        ({"status": Status.NONZERO_EXIT, "exit_code": 2, "stdout": shown("0\n")}, True),
    ],
)
def test_saying_no_as_grep_does_is_no_error(changed, error):
    assert is_error(result(**changed)) is error


def test_a_passage_stands_under_its_source_and_lines():
    hit = Hit(
        1, "guide.md", 1, "Guide > Retries", "A retry waits.\n", "markdown", None, 9, 24, 3, 3, 1.0
    )
    found = QueryResult("retry", SearchState.MATCH, (hit,), (("rety", "retry"),), 2, (1,))
    assert query_text(found) == (
        "## retry\n[also read rety as retry]\n"
        "--- guide.md | Guide > Retries | lines 3-3 ---\nA retry waits.\n"
        "[2 more did not fit: ask for a source, or fewer queries]\n"
        "[1 source is not fully indexed yet: search again]"
    )


@pytest.mark.parametrize(
    ("stale", "said"),
    [
        ("", ""),
        ("changed", ", file changed since: index it again"),
        ("gone", ", file was deleted"),
        ("unreadable", ", file cannot be read now"),
    ],
)
def test_a_passage_says_what_became_of_its_file_in_text_and_in_data(stale, said):
    hit = Hit(1, "a.md", 1, "", "text\n", "text", None, 0, 5, 1, 1, 1.0, stale=stale)
    found = QueryResult("text", SearchState.MATCH, (hit,))
    assert query_text(found).splitlines()[1] == f"--- a.md | lines 1-1{said} ---"
    answer = SearchAnswer((found,))
    assert reply.describe_search(answer)["queries"][0]["hits"][0].get("stale", "") == stale
    assert to_json(answer, {})["hits"][0]["stale"] == (stale or None)


def test_a_name_with_line_ends_stays_in_its_line():
    hit = Hit(1, "a\n--- b.md", 1, "key\none > two", "text\n", "markdown", None, 0, 5, 1, 1, 1.0)
    shown = query_text(QueryResult("text", SearchState.MATCH, (hit,))).splitlines()
    assert shown == ["## text", r"--- a\n--- b.md | key\none > two | lines 1-1 ---", "text"]


@pytest.mark.parametrize("state", [SearchState.NO_MATCH, SearchState.NOTHING_INDEXED])
def test_nothing_found_says_what_to_do(state):
    assert len(query_text(QueryResult("x", state)).splitlines()) == 2


def test_a_batch_without_queries_shows_outputs_and_what_was_skipped():
    ran = BatchCommand("a", "echo 42", Answer(result(stdout=shown("42\n"))))
    skipped = BatchCommand("b", "ls", None, "out of time")
    text = batch_text(BatchAnswer((ran, skipped)))
    assert text.startswith("# a\n42\n[ok")
    assert text.endswith("# b\n[skipped: out of time]")


def batch_of(output: str, *, found: bool) -> str:
    ran = BatchCommand("a", "grep -c ERROR", Answer(result(stdout=shown(output))))
    failed = result(status=Status.NONZERO_EXIT, exit_code=7, stderr=shown("bad\n"))
    hit = Hit(1, "a", 1, "", "a passage", "text", None, 0, 9, 1, 1, 1.0)
    state = SearchState.MATCH if found else SearchState.NO_MATCH
    query = QueryResult("ERROR", state, (hit,) if found else ())
    commands = (ran, BatchCommand("b", "x", Answer(failed)))
    return batch_text(BatchAnswer(commands, (query,)))


def test_a_batch_with_queries_shows_large_outputs_by_their_passages_and_the_failures():
    text = batch_of("many words\n" * 400, found=True)
    assert "many words" not in text
    assert "a passage" in text
    assert "# b\n[stderr]\nbad\n[nonzero exit, exit 7" in text


def test_a_batch_of_small_outputs_shows_them_beside_the_passages():
    text = batch_of("81\n", found=True)
    assert "# a\n81\n[ok" in text
    assert "a passage" in text


def test_a_batch_whose_queries_find_nothing_shows_its_outputs():
    assert "many words\n[ok" in batch_of("many words\n" * 400, found=False)


def test_indexing_says_what_was_left_out():
    skipped = {"binary": 2, "excluded": 0}
    answer = IndexAnswer(
        "docs", 3, 12, 2048, False, unchanged=1, redactions=2, skipped=skipped, notes=("a note",)
    )
    assert index_text(answer).splitlines() == [
        "Indexed 3 files, 12 sections, 2.0 KB of the folder docs.",
        "1 file unchanged since the last time.",
        "Secrets redacted: 2.",
        "Left out: 2 binary.",
        "a note",
    ]


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (1_500_000, "1.4 MB"), (5 << 40, "5120.0 GB")],
)
def test_sizes_are_for_people(count, words):
    assert size(count) == words


def refusal(number: int, **changed) -> Refusal:
    given = {"kind": "network", "target": f"{number}.net", "by": "x", "certainty": "exact"}
    return Refusal(**given | {"count": number, "remedy": "y"} | changed)


def test_each_refusal_is_a_line_before_the_footer_and_the_first_few_are_shown():
    told = (
        refusal(1, remedy="nothing grants it"),
        refusal(2, certainty="inferred"),
        refusal(3, certainty="told", target="a\nb"),
    )
    assert answer_text(Answer(result(stdout=shown("42\n"), refusals=told))).splitlines()[:4] == [
        "42",
        "[refused: network 1.net, by x; nothing grants it]",
        "[probably refused: network 2.net (2 times), by x; to allow it: y]",
        "[refused, according to its error: network a\\nb (3 times), by x; to allow it: y]",
    ]
    many = Answer(result(refusals=tuple(map(refusal, range(1, 9))), refusals_omitted=4))
    lines = answer_text(many).splitlines()
    assert len(lines) == 7
    assert lines[5] == "[refused: 7 more; `context-mode policy refusals` lists them]"
    assert describe_run(many)["refused"][5] == lines[5][1:-1]


def test_where_a_run_failed_what_was_refused_stands_before_its_traceback():
    trace = 'Traceback (most recent call last):\n  File "x", line 1\nOSError: no\n'
    failed = result(
        status=Status.NONZERO_EXIT,
        exit_code=1,
        stdout=shown("begun\n"),
        stderr=shown(trace),
        refusals=(refusal(1),),
    )
    lines = answer_text(Answer(failed)).splitlines()
    assert lines[:4] == [
        "[refused: network 1.net, by x; to allow it: y]",
        "begun",
        "[stderr]",
        "Traceback (most recent call last):",
    ]
    assert lines[-1].startswith("[nonzero exit, exit 1 in")
    assert len(lines) == 7


def test_what_the_answer_says_anyway_is_no_line():
    told = (refusal(1, kind="commit"), refusal(1, kind="limit"))
    assert len(answer_text(Answer(result(refusals=told))).splitlines()) == 1
    assert "refused" not in describe_run(Answer(result(refusals=told)))
