"""A hook imports the policy at every tool call: it must stay light."""

from __future__ import annotations

import subprocess
import sys


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
        "import sys, policy\n"
        "policy.evaluate(policy.Subject('shell', 'ls | wc'), policy.Rules())\n"
        "print('tree_sitter_language_pack' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
