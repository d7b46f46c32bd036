"""The table of driven hosts in docs/hosts.md is what the kept outcomes say."""

from __future__ import annotations

import json

import pytest

from docs import host_table


def test_the_table_in_the_docs_is_true():
    assert host_table.PAGE.read_text() == host_table.page(), "run: python docs/host_table.py"


@pytest.mark.parametrize(
    ("kinds", "cell"),
    [
        (["held"], "yes"),
        (["failed"], "no (1)"),
        (["held", "held", "failed"], "2 of 3 (1)"),
        ([], "-"),
    ],
)
def test_a_cell_counts_what_held_and_notes_why_not(kinds, cell):
    outcomes = [
        {
            "check": f"refuses: deed {n}",
            "kind": kind,
            "why": "" if kind == "held" else "it was done",
        }
        for n, kind in enumerate(kinds)
    ]
    assert host_table.cell(outcomes, []) == cell


def test_every_kept_outcome_is_complete():
    lines = host_table.KEPT.read_text().splitlines()
    names = {"host", "version", "scope", "check", "kind", "why", "bytes_shown", "seconds", "date"}
    assert lines
    assert all(set(json.loads(line)) == names for line in lines)
