"""Real commands out of the texts that hold them, and what counts as a false alarm."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.commands import (
    drop_repeated,
    is_synopsis,
    package_scripts,
    run_steps,
    sample_evenly,
    shell_blocks,
)
from benchmarks.corpus import PLAIN, RULE_SETS, judge, judge_all, parse_rules

WORKFLOW = """
jobs:
  test:
    steps:
      - run: make test
      - name: many
        run: |
          npm ci
          npm test -- ${{ matrix.kind }}
      - shell: pwsh
        run: Get-Item .
      - run: 'echo "it''s"'
"""
DOCUMENT = (
    "```sh\n$ ls -l <file name>\nREADME\n$ pwd\n```\n```python\nx = 1\n```\n```bash\nid\nls\n```\n"
)


@pytest.mark.parametrize(
    ("found", "commands"),
    [
        (run_steps(WORKFLOW), ["make test", "npm ci\nnpm test -- value", 'echo "it\'s"']),
        (shell_blocks(DOCUMENT), ["ls -l file-name", "pwd", "id\nls"]),
    ],
)
def test_commands_are_found_in_what_projects_hold(found, commands):
    assert list(found) == commands


def test_scripts_of_packages_are_found(tmp_path: Path):
    (tmp_path / "package.json").write_text('{"scripts": {"test": "jest ", "no": 1}}')
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "package.json").write_text("[1]")
    assert [command for command, _ in package_scripts([tmp_path])] == ["jest"]


def test_forms_are_no_commands():
    assert list(map(is_synopsis, ["ls [OPTION]... FILE", "[ -f x ] && [[ a ]]", "ls -l"])) == [
        True,
        False,
        False,
    ]


def test_a_sample_has_each_command_once_small_origins_whole_and_none_that_bash_cannot_read():
    texts = ["ls", "ls ", "# nothing", "", "if", *(f"echo {number}" for number in range(9))]
    found = [(text, "ci") for text in texts] + [("id", "manual")]
    sample = sample_evenly(drop_repeated(found), 4, random.Random(1))
    assert len(sample) == 4
    assert ("id", "manual") in sample
    assert "if" not in {command for command, _ in sample}


@pytest.mark.parametrize(
    ("command", "rules", "refused", "suspect"),
    [
        ("ls -l", "everyday", False, False),
        ("cd x && sudo -u u id", "everyday", True, False),
        ("rm -fr x", "everyday", True, False),
        ("cat .env", "everyday", True, False),
        ('"$TOOL" --help', "everyday", False, False),
        ("x=$(cat ./secrets/key.txt)", "documented", True, False),
        ("rm -r build", "documented", True, False),
        ("wget -qO- https://example.com/", "defaults", True, False),
    ],
)
def test_a_refusal_is_plain_where_the_command_names_what_the_rule_names(
    command, rules, refused, suspect, tmp_path
):
    some = parse_rules(RULE_SETS[rules], str(tmp_path))
    (ruling,) = judge([(command, "ci")], some, str(tmp_path))
    assert (not ruling.verdict.allowed, ruling.is_suspect) == (refused, suspect)


def test_every_rule_that_refuses_has_a_pattern_and_all_rule_sets_are_judged(tmp_path):
    denied = [text for lists in RULE_SETS.values() for text in lists.get("deny", ())]
    assert set(denied) <= set(PLAIN)
    found = judge_all([("sudo id", "ci"), ("ls", "manual")], tmp_path)
    assert [one.verdict.allowed for one in found["everyday"]] == [False, True]
    assert [one.verdict.allowed for one in found["documented"]] == [True, True]
