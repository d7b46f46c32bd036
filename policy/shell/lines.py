"""Lines of simple commands, the most common programs: read without the grammar.

A process that judges one command need not load the parser for it, and in longer programs most
substitutions are such lines.
"""

from __future__ import annotations

from policy.shell.syntax import Sequence, ShellPipeline, Simple, Statement, Token

PIPES = frozenset(("|", "|&"))
_MAY_END = frozenset((";", "&", "\n"))
_NEEDS_MORE = frozenset(("&&", "||"))
_BETWEEN = PIPES | _MAY_END | _NEEDS_MORE


def simple(tokens: list[Token]) -> Simple:
    """The simple command that words and redirections form."""
    words = tuple([token.word for token in tokens if token.word])
    redirections = tuple([token.redirection for token in tokens if token.redirection])
    return Simple(words, redirections, tokens[0].start, tokens[-1].end)


def read_line(tokens: tuple[Token, ...]) -> Statement | None:
    """The statement of simple commands and pipelines one after the other; None for all else."""
    done: list[Statement] = []
    stages: list[Statement] = []
    current: list[Token] = []
    last = ""
    for token in tokens:
        if token.kind in ("word", "redirect"):
            current.append(token)
            continue
        if not current or token.text not in _BETWEEN:
            return None
        stages.append(simple(current))
        current, last = [], token.text
        if last not in PIPES:
            done.append(_pipeline(stages))
            stages = []
    if current:
        done.append(_pipeline([*stages, simple(current)]))
    elif last not in _MAY_END:
        return None
    return done[0] if len(done) == 1 else Sequence(tuple(done))


def _pipeline(stages: list[Statement]) -> Statement:
    return stages[0] if len(stages) == 1 else ShellPipeline(tuple(stages))
