"""A hook imports the policy at every tool call: it must stay light."""

from __future__ import annotations

import subprocess
import sys

import pytest

# What takes a millisecond and more to load, or to make classes with.
SLOW = "dataclasses inspect pathlib ipaddress urllib.parse base64 shlex subprocess logging"
# Of the shell's conventions those that no plain command needs.
SPECIAL = "downloads embedded_languages wrappers"


def test_importing_the_policy_loads_no_grammar_and_nothing_heavy() -> None:
    code = (
        "import sys, policy\n"
        "heavy = {'tree_sitter', 'pathspec', 'tree_sitter_language_pack', 'trio', 'mcp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_judging_shell_loads_one_grammar_without_the_packs_own_imports() -> None:
    code = (
        "import sys, policy.decide\n"
        "policy.decide.evaluate(policy.Subject('shell', 'ls | wc'), policy.Rules())\n"
        "print('tree_sitter_language_pack' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "command", ["git status && npm test 2>&1 | tail -20", "ls -la", "cd a; ls"]
)
def test_judging_a_plain_command_loads_only_what_it_needs(command) -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "import os, policy.decide\n"
        "rules = policy.load_rules('/nowhere/project', home='/nowhere')\n"
        "subject = policy.Subject('shell', sys.argv[1], surface='agent_shell')\n"
        "verdict = policy.decide.evaluate(subject, rules, real_path=policy.real_path)\n"
        "assert verdict.allowed, verdict\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "policy.shell.walk" in loaded
    unneeded = {*SLOW.split(), *(f"policy.shell.{name}" for name in SPECIAL.split())}
    assert loaded & unneeded == set()
