"""The case tables: our own, and the shared one where it lies beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.cases import PolicyCase, count_by_tag, decode, read_cases, run_cases
from policy.model import RuleFileError

OWN = Path(__file__).with_name("cases")
SHARED = Path(__file__).parents[3] / "shared" / "cases"

# Shares of rows that must be right, by tag; every other tag must be right throughout.
FLOORS = {"bypass": 0.97, "bypass-t2": 0.80}


def misses(cases: Path, rules: Path) -> list[str]:
    return [
        f"line {case.line}: {case.code!r} is {verdict.decision.word}, "
        f"not {case.expected}: {verdict.message}"
        for case, verdict in run_cases(cases, rules)
        if not case.is_right(verdict)
    ]


@pytest.mark.parametrize("table", ["shell.tsv", "programs.tsv"])
def test_every_row_of_our_own_tables_is_decided_as_written(table: str) -> None:
    assert misses(OWN / table, OWN / "rules.json") == []


def test_every_row_of_the_table_of_operations_is_decided_as_written() -> None:
    assert misses(OWN / "operations.tsv", OWN / "operations-rules.json") == []


@pytest.mark.skipif(
    not SHARED.is_dir(), reason="not applicable: no shared tables beside the checkout"
)
def test_the_shared_table_is_decided_as_written() -> None:
    results = run_cases(SHARED / "policy.tsv", SHARED / "policy-rules.json")
    for tag, (right, total) in count_by_tag(results).items():
        assert right >= FLOORS.get(tag, 1.0) * total, (tag, right, total)


def test_what_is_known_to_be_missed_is_missed_still_and_told_in_its_page() -> None:
    """A miss that is fixed moves to the other tables, and leaves the document."""
    document = " ".join(
        (Path(__file__).parents[2] / "docs" / "known-misses.md").read_text("utf-8").split()
    )
    results = run_cases(OWN / "known_misses.tsv", OWN / "rules.json")
    assert [case.code for case, verdict in results if case.is_right(verdict)] == []
    assert [case.reason for case, _ in results if f"| {case.reason} | " not in document] == []


def test_at_least_forty_ordinary_rows_have_arguments_that_are_not_constant() -> None:
    results = run_cases(OWN / "shell.tsv", OWN / "rules.json")
    results += run_cases(OWN / "programs.tsv", OWN / "rules.json")
    partial = [
        case for case, verdict in results
        if case.expected == "allow" and verdict.coverage == "partial"
    ]  # fmt: skip
    assert len(partial) >= 40


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (r"a\nb", "a\nb"),
        (r"a\tb\r", "a\tb\r"),
        (r"a\\nb", r"a\nb"),
        (r"\\\n", "\\\n"),
        (r"a\xb\$", r"a\xb\$"),
        ("plain", "plain"),
    ],
)
def test_escapes_are_decoded_left_to_right(cell: str, text: str) -> None:
    assert decode(cell) == text


def test_a_row_that_is_no_case_is_named_by_its_line(tmp_path: Path) -> None:
    table = tmp_path / "bad.tsv"
    table.write_text("language\tcode\texpected\treason\nbash\tls\tmaybe\twhy\n")
    with pytest.raises(RuleFileError, match=r"bad\.tsv:2: not a case"):
        read_cases(table)


def test_a_table_without_a_header_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "bad.tsv"
    table.write_text("bash\tls\tallow\twhy\n")
    with pytest.raises(RuleFileError, match=r"bad\.tsv:1: no header"):
        read_cases(table)


def test_the_report_counts_by_tag_and_lists_rows_in_file_order(tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text(
        "language\tcode\texpected\treason\n"
        "bash\tsudo id\tdeny\t[plain] sudo\n"
        "bash\tls\tdeny\t[plain] wrong on purpose\n"
    )
    results = run_cases(table, OWN / "rules.json")
    assert count_by_tag(results) == {"plain": (1, 2)}
    assert [case for case, verdict in results if not case.is_right(verdict)] == [
        PolicyCase("bash", "ls", "deny", "[plain] wrong on purpose", 3)
    ]
    assert [case.to_json(verdict) for case, verdict in results] == [
        {
            "language": "bash",
            "expected": "deny",
            "got": "deny",
            "rule": "Bash(sudo *)",
            "reason": "[plain] sudo",
        },
        {
            "language": "bash",
            "expected": "deny",
            "got": "allow",
            "rule": None,
            "reason": "[plain] wrong on purpose",
        },
    ]
