"""Shell text to statements: what bash accepts is read, what it refuses is refused."""

from __future__ import annotations

import pytest

from policy.shell.grammar import parse
from policy.shell.syntax import (
    Branch,
    CompoundCommand,
    Function,
    Loop,
    Sequence,
    ShellExpression,
    ShellPipeline,
    ShellSyntaxError,
    Simple,
)

ACCEPTED = [
    "{rm,-rf,x}",
    "cat<<E>x\nsudo\nE",
    "cat <<A <<B\na\nA\nb\nB\n",
    "cat <<A; echo b\nx\nA\n",
    "cat <<E | sh\nx\nE\n",
    "a <>f",
    "[[ a =~ `x` ]]",
    "[[ a =~ ^(b|c)$ && ! -f d ]]",
    "echo $[ `x` + 1 ]",
    "(( `x` + 1 ))",
    "for (( i=`x`; i<1; i++ )); do a; done",
    "echo @(a|$(b))",
    "case $x in (a|b) c ;& d) e;; esac",
    "case a in esac",
    "function f { a; }",
    "f()\n{\na\n}\n",
    "f() (a)",
    "if a; then if b; then c; fi fi",
    "{ { a; } }",
    "! (a)",
    "!(a)",
    "time -p a",
    "coproc X { a; }",
    "x=(a b $(c)) d",
    "a[1 + 2]=3 b",
    'echo "`a "b"`"',
    'echo "${x:-"a b"}"',
    'echo ${x#"a}"}',
    "$((a) ; (b))",
    "echo $(case a in a) b;; esac)",
    'echo "$(cat <<EOF\n)\nEOF\n)"',
    "if [[ -f x ]] then a; fi",
    "r\\\nm a",
    "a |\n\nb\n\nif c; then d; fi",
    "for x\ndo a; done",
    "for x\nin a b\ndo c; done",
    "a && b &&\nc",
    "exec 3<>f {fd}>x",
    "# only a comment",
    "",
    "echo if then }",
    "((x<<2))",
    "while read l; do a; done < <(b)",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_bash_accepts_is_read(text: str) -> None:
    parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "echo 'open",
        'echo "open',
        "echo `open",
        "echo $(open",
        "echo ${open",
        "if a; then b",
        "a;;b",
        "( a",
        "a )",
        "{ a;",
        "cat <",
        "for in do",
        "x=(a",
        "nul\0byte",
        "[[ a",
        "esac",
    ],
)
def test_what_bash_refuses_is_refused(text: str) -> None:
    with pytest.raises(ShellSyntaxError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a b", Simple),
        ("a; b", Sequence),
        ("a && b", Sequence),
        ("a | b", ShellPipeline),
        ("(a)", CompoundCommand),
        ("{ a; } >x", CompoundCommand),
        ("if a; then b; fi", Branch),
        ("case a in b) c;; esac", Branch),
        ("while a; do b; done", Loop),
        ("for a in b; do c; done", Loop),
        ("for ((;;)); do c; done", Loop),
        ("f() { a; }", Function),
        ("[[ a ]]", ShellExpression),
    ],
)
def test_statements_have_their_kind(text: str, kind: type) -> None:
    assert type(parse(text)) is kind


def test_a_long_chain_is_not_a_deep_one() -> None:
    statement = parse(" && ".join(["true"] * 2000))
    assert isinstance(statement, Sequence)
    assert len(statement.items) == 2000


@pytest.mark.parametrize(
    "text", ["$(" * 200, "( " * 500 + "a" + " )" * 500, '"$(' * 90, "$((" * 80]
)
def test_nesting_without_bound_is_refused(text: str) -> None:
    with pytest.raises(ShellSyntaxError):
        parse(text)


def test_a_newline_after_a_pipeline_over_several_lines_separates() -> None:
    statement = parse("a |\nb >x\n\nif c; then d; fi")
    assert isinstance(statement, Sequence)
    assert [type(item) for item in statement.items] == [ShellPipeline, Branch]
