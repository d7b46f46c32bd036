"""Real commands out of the texts that hold them, and what counts as a false alarm."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.policy_commands import drop_repeated, package_scripts, sample_evenly, tldr_commands
from benchmarks.policy_corpus import PLAIN, RULE_SETS, judge, measure, parse_rules, report
from benchmarks.project_commands import Found, is_synopsis, recipes, run_steps, shell_blocks

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
MAKEFILE = "DIR = build\nall: x\n\t@rm -rf $(DIR)\n\tcc -o $@ $<\n\t$(call f,x)\n\techo $$HOME\n"
DOCUMENT = (
    "```sh\n$ ls -l <file name>\nREADME\n$ pwd\n```\n```python\nx = 1\n```\n```bash\nid\nls\n```\n"
)


@pytest.mark.parametrize(
    ("found", "commands"),
    [
        (run_steps(WORKFLOW), ["make test", "npm ci\nnpm test -- value", 'echo "it\'s"']),
        (recipes(MAKEFILE), ["rm -rf build", "cc -o target source", "", "echo $HOME"]),
        (shell_blocks(DOCUMENT), ["ls -l file-name", "pwd", "id\nls"]),
    ],
)
def test_commands_are_found_in_what_projects_hold(found, commands):
    assert list(found) == commands


def test_scripts_of_packages_and_examples_of_pages_are_found(tmp_path: Path):
    (tmp_path / "package.json").write_text('{"scripts": {"test": "jest ", "no": 1}}')
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "package.json").write_text("[1]")
    (tmp_path / "ls.md").write_text(
        "# ls\n\n`ls {{path/to/file}} {{a name}} {{[-a|--all]}}`\n`<Ctrl x>`\n"
    )
    assert [one.command for one in package_scripts([tmp_path])] == ["jest"]
    (command,) = [one.command for one in tldr_commands(tmp_path, random.Random(1))]
    assert command in ("ls path/to/file a_name -a", "ls path/to/file a_name --all")


def test_forms_are_no_commands():
    assert list(map(is_synopsis, ["ls [OPTION]... FILE", "[ -f x ] && [[ a ]]", "ls -l"])) == [
        True,
        False,
        False,
    ]


def test_a_sample_has_each_command_once_small_origins_whole_and_none_that_bash_cannot_read():
    texts = ["ls", "ls ", "# nothing", "", "if", *(f"echo {number}" for number in range(9))]
    found = [Found(text, "ci", "x") for text in texts] + [Found("id", "manual", "y")]
    sample = sample_evenly(drop_repeated(found), 4, random.Random(1))
    assert len(sample) == 4
    assert Found("id", "manual", "y") in sample
    assert "if" not in {one.command for one in sample}


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
    (ruling,) = judge([Found(command, "ci", "x")], some, str(tmp_path))
    assert (not ruling.verdict.allowed, ruling.is_suspect) == (refused, suspect)


def test_every_rule_that_refuses_has_a_pattern_and_the_report_counts_by_rule_set():
    denied = [text for lists in RULE_SETS.values() for text in lists.get("deny", ())]
    assert set(denied) <= set(PLAIN)
    found = report(measure([Found("sudo id", "ci", "x"), Found("ls", "manual", "y")]))
    assert found.figures["everyday_deny"] == 1
    assert found.figures["everyday_refused_plain_percent"] == 50
    assert found.figures["documented_allow"] == 2
