"""What a policy is asked about, and what it answers: a decision and every match behind it."""

import enum
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

Surface = Literal["agent_shell", "sandbox"]
Coverage = Literal["full", "partial", "unparsed"]
MatchKind = Literal["compat", "normalised", "path", "domain", "tool", "opaque-exec", "unparsed"]
Complete = Callable[[str], Sequence[str]]


class Decision(enum.IntEnum):
    """The four answers, ordered so that the strictest of several is their maximum."""

    ALLOW = 0
    ASK = 1
    REDIRECT = 2
    DENY = 3

    @property
    def word(self) -> str:
        """The decision as written in rule files and case tables."""
        return self.name.lower()


class RuleFileError(ValueError):
    """A rule file that cannot be used; says which file, which line, and what to do."""

    def __init__(self, path: str, line: int, problem: str, remedy: str) -> None:
        super().__init__(f"{path}:{line}: {problem}. {remedy}")
        self.path = path
        self.line = line
        self.problem = problem
        self.remedy = remedy


class Subject(NamedTuple):
    """A program somebody wants to run."""

    language: str
    code: str
    cwd: str = "/"
    project: str | None = None
    home: str = "/"
    env: Mapping[str, str] = MappingProxyType({})  # a name missing from it is unknown, not empty
    surface: Surface = "sandbox"  # the sandbox, or the agent's shell, where redirect rules apply
    complete: Complete | None = None  # gives the texts, one of which a run makes of the code


class RuleSource(NamedTuple):
    """Where a rule was written. `line` is 1-based; 0 means the whole file, or a shipped default."""

    path: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class Redirect(NamedTuple):
    """A better tool for the same job, with arguments ready to use; the command is not run."""

    tool: str
    arguments: Mapping[str, str]
    advice: str = ""

    def __hash__(self) -> int:
        return hash((self.tool, self.advice))  # a mapping has none


class Match(NamedTuple):
    """A rule that spoke."""

    rule_id: str
    rule: str
    source: RuleSource
    decision: Decision
    kind: MatchKind
    argv: tuple[str, ...]
    span: tuple[int, int]  # a range of bytes of the subject's code
    text: str
    reason: str = ""
    advice: str = ""
    redirect: Redirect | None = None
    path: str = ""  # what a file rule fears
    access: str = ""  # `read` or `write`, of `path`

    def to_json(self) -> dict[str, object]:
        """The match as plain JSON values."""
        return {
            "rule_id": self.rule_id,
            "rule": self.rule,
            "file": self.source.path,
            "line": self.source.line,
            "decision": self.decision.word,
            "kind": self.kind,
            "argv": list(self.argv),
            "span": list(self.span),
            "text": self.text,
            "reason": self.reason,
            "advice": self.advice,
        }


class Verdict(NamedTuple):
    """The answer, with everything that explains it.

    Attributes:
        coverage: how much was understood: full, partial (unknown words or values) or unparsed
            (unreadable syntax, or too much work).
    """

    decision: Decision
    matches: tuple[Match, ...] = ()
    coverage: Coverage = "full"
    redirect: Redirect | None = None
    message: str = ""
    work: int = 0  # nodes visited plus expansions

    @property
    def allowed(self) -> bool:
        """True when the program may run as it is."""
        return self.decision is Decision.ALLOW

    def to_json(self) -> dict[str, object]:
        """The verdict as plain JSON values."""
        redirect = self.redirect and {
            "tool": self.redirect.tool,
            "arguments": dict(self.redirect.arguments),
            "advice": self.redirect.advice,
        }
        return {
            "decision": self.decision.word,
            "coverage": self.coverage,
            "message": self.message,
            "redirect": redirect,
            "matches": [match.to_json() for match in self.matches],
        }


TOO_LARGE = "it is too large to be understood in the time for a verdict; run less at once"

Report = Callable[[Exception], str]  # tells who can mend a defect, and gives a sentence on it


def not_judged(report: str) -> str:
    """The reason where judging raised an exception, of which this is the report."""
    return f"it could not be judged: {' '.join(report.split())}"
