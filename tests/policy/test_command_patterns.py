"""Command rules: Claude Code's own table of wildcards, and matching by meaning."""

from __future__ import annotations

import pytest

from policy.analysis import analyse
from policy.command_patterns import Found, match_command, spellings
from policy.model import Command, Subject


def found(spec: str, code: str) -> Found | None:
    command = next(e for e in analyse(Subject("shell", code)).effects if isinstance(e, Command))
    return match_command(spec, spellings(command))


@pytest.mark.parametrize(
    ("spec", "code", "expected"),
    [
        ("ls *", "ls", "compat"),
        ("ls *", "ls -la", "compat"),
        ("ls *", "lsof", None),
        ("ls*", "lsof", "compat"),
        ("ls:*", "ls -la", "compat"),
        ("ls:*", "lsof", None),
        ("git:* push", "git push", None),
        ("* --help *", "npm --help", None),
        ("* --help *", "npm --help x", "compat"),
        ("npm test", "npm test", "compat"),
        ("npm test", "npm test x", None),
        ("*", "anything at all", "compat"),
        ("sudo *", "A=1 B='x y' sudo id", "compat"),
        ("sudo *", "timeout 5 sudo id", "compat"),
        ("sudo *", "command -v sudo", None),
        ("rm *", "rm a\nb", "compat"),
    ],
)
def test_text_is_compared_as_claude_code_does(spec: str, code: str, expected: str | None) -> None:
    assert found(spec, code) == expected


@pytest.mark.parametrize(
    ("spec", "code", "expected"),
    [
        ("rm -rf *", "rm -fr x", "normalised"),
        ("rm -rf *", "rm x -r --force", "normalised"),
        ("rm -rf *", "rm --recurs --forc x", "normalised"),
        ("rm -rf *", "rm -r x", None),
        ("rm -rf *", "rm -- -rf", None),
        ("rm -rf *", "rm -r $X", "possible"),
        ("rm -rf *", 'rm -r "$X"', None),
        ("rm -rf *", "rm -r$X", "possible"),
        ("git push --force *", "git -C d push -f", "normalised"),
        ("git push --force *", "git push origin +main", "normalised"),
        ("git push --force *", "git push --force-with-lease", None),
        ("git push --force *", 'git "$X" --force', "possible"),
        ("git push --force *", "git log --force", None),
        ("curl *", "/usr/bin/curl x", "normalised"),
        ("curl *", "c'u'rl x", "normalised"),
        ("curl *", "$X x", None),
        ("curl -s *", "$X -s x", "possible"),
        ("curl *", '"$D/run.sh" x', None),
        ("curl *", '"$D/c"* x', "possible"),
        ("npm publish *", "npm --loglevel=warn publish --tag x", "normalised"),
        ("npm publish *", "npm run publish", None),
        ("docker rm *", "docker rm -f x", "compat"),
        ("git * main", "git 'push' origin main", "compat"),
    ],
)
def test_programs_are_compared_by_what_they_do(spec: str, code: str, expected: str | None) -> None:
    assert found(spec, code) == expected
