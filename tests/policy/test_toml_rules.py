"""Our own rules: reasons, redirects, and examples that are tried when the file loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import Decision, RuleFileError, Rules, Subject, load_file
from policy.decide import evaluate

GOOD = """\
[[rule]]
id = "no-publish"
decision = "deny"
commands = ["npm publish *"]
reason = "Releases are made by CI."
advice = "Open a pull request instead."
match = ["npm publish --tag next", "cd x && npm publish"]
not_match = ["npm pack", "echo npm publish"]

[[rule]]
decision = "redirect"
commands = ["jq *"]
advice = "It is indexed there."
[rule.redirect]
tool = "ctx_execute"
arguments = { language = "shell", code = "{command}" }

[[rule]]
decision = "deny"
read = ["**/*.pem"]
match = ["cat k.pem", "openssl x509 -in k.pem"]
not_match = ["ls k.pem"]
"""


def load(tmp_path: Path, text: str) -> Rules:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    return load_file(path, project=tmp_path, home=tmp_path)


def test_a_rule_speaks_with_its_reason_and_advice(tmp_path: Path) -> None:
    rules = load(tmp_path, GOOD)
    verdict = evaluate(Subject("shell", "npm publish"), rules)
    assert verdict.decision is Decision.DENY
    assert verdict.matches[0].rule_id == "no-publish"
    assert verdict.message == (
        "denied by no-publish (Bash(npm publish *)) in policy.toml:1: `npm publish` "
        "(Releases are made by CI). Open a pull request instead."
    )


def test_a_redirect_names_the_tool_with_its_arguments_filled_in(tmp_path: Path) -> None:
    verdict = evaluate(Subject("shell", "jq .a big.json"), load(tmp_path, GOOD))
    assert verdict.decision is Decision.REDIRECT
    assert verdict.redirect is not None
    assert verdict.redirect.tool == "ctx_execute"
    assert verdict.redirect.arguments == {"language": "shell", "code": "jq .a big.json"}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("[[rule]\n", 1, "not valid TOML"),
        ('\n[[rule]]\ndecision = "forbid"\ncommands = ["x"]\n', 2, "decision = 'forbid'"),
        ('[[rule]]\ndecision = "deny"\n', 1, "without a pattern"),
        ('[[rule]]\ndecision = "deny"\ncomands = ["x"]\n', 1, "unknown key 'comands'"),
        ('[[rule]]\ndecision = "deny"\ncommands = [1]\n', 1, "not a list of strings"),
        ('[[rule]]\ndecision = "redirect"\ncommands = ["x"]\n', 1, "must be used together"),
        ('default = "deny"\n', 1, "default = 'deny'"),
        (
            '[[rule]]\ndecision = "deny"\ncommands = ["x"]\nreason = 1\n',
            1,
            "reason is not a string",
        ),
        (
            '[[rule]]\ndecision = "deny"\ncommands = ["a *"]\n'
            '\n[[rule]]\ndecision = "deny"\ncommands = ["x *"]\nmatch = ["y"]\n',
            5,
            "does not match its example 'y'",
        ),
        (
            '[[rule]]\ndecision = "deny"\ncommands = ["x *"]\nnot_match = ["sh -c x"]\n',
            1,
            "matches its example 'sh -c x'",
        ),
    ],
)
def test_a_bad_file_is_an_error_that_names_file_and_line(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    with pytest.raises(RuleFileError, match=problem.replace("(", r"\(")) as caught:
        load(tmp_path, text)
    assert caught.value.path.endswith("policy.toml")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('[[rule]]\ndecision = "deny"\ncomands = ["x"]\n', "commands"),
        ('[[rule]]\ndecision = "dney"\ncommands = ["x"]\n', "deny"),
    ],
)
def test_what_is_misspelt_names_what_was_probably_meant(
    tmp_path: Path, text: str, meant: str
) -> None:
    with pytest.raises(RuleFileError) as raised:
        load(tmp_path, text)
    assert raised.value.remedy.startswith(f"Did you mean {meant}? ")
