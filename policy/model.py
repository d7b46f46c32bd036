"""Input and output of a policy: subjects, and a decision with every match that led to it."""

import enum
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from policy import marks

Span = tuple[int, int]


class EffectPlace(NamedTuple):
    """The place in the subject from which an effect comes."""

    span: Span
    text: str  # the smallest piece of program text that has the effect
    nesting: tuple[str, ...] = ()  # the path of what wraps it (`bash -c`, `$(`, `xargs`, ...)


class Command(NamedTuple):
    """The start of a program. Arguments may hold marks for unknown parts. In a command from a file
    (`in_file`), unknown parts are not suspicious."""

    argv: tuple[str, ...]
    place: EffectPlace
    is_syntactic: bool  # reached through shell syntax alone, so that the text itself is the command
    in_file: bool = False


class FileAccess(NamedTuple):
    """A file that is read or written.

    `excluded` and `included` are gitignore's patterns; after a `:`, files of that name.
    """

    path: str  # absolute, or relative to a folder that is unknown
    is_write: bool
    argv: tuple[str, ...]
    place: EffectPlace
    is_tree: bool = False  # True for a folder with everything below it
    excluded: tuple[str, ...] = ()  # paths excluded from a tree
    included: tuple[str, ...] = ()  # if there are any, only files of such names count


class Download(NamedTuple):
    """A call of curl or wget that would print what it fetched."""

    url: str
    reaches_output: bool  # True if anyone sees the output
    argv: tuple[str, ...]
    place: EffectPlace


class OpaqueExec(NamedTuple):
    """Text that cannot be known before it runs would be executed; `why` describes it."""

    why: str
    argv: tuple[str, ...]
    place: EffectPlace


class Unparsed(NamedTuple):
    """Text that would be executed and could not be read."""

    why: str
    place: EffectPlace


Effect = Command | FileAccess | Download | OpaqueExec | Unparsed


def encode(text: str) -> bytes:
    """Return the bytes of a program text, undecodable bytes and lone surrogates as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def program_name(word: str) -> str | None:
    """Return the program a command word names: its last path segment; None if that is unknown."""
    name = word.rsplit("/", 1)[-1]
    return name if name and marks.is_known(name) else None


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
        """Return the decision as written in rule files and case tables."""
        return self.name.lower()


class RuleFileError(ValueError):
    """A rule file that cannot be used; names the file, the line, and the remedy."""

    def __init__(self, path: str, line: int, problem: str, remedy: str) -> None:
        super().__init__(f"{path}:{line}: {problem}. {remedy}")
        self.path = path
        self.line = line
        self.problem = problem
        self.remedy = remedy


class Subject(NamedTuple):
    """A program to be run."""

    language: str
    code: str
    cwd: str = "/"
    project: str | None = None
    home: str = "/"
    env: Mapping[str, str] = MappingProxyType({})  # a name missing from it is unknown, not empty
    surface: Surface = "sandbox"  # the sandbox, or the agent's shell, where redirect rules apply
    complete: Complete | None = None  # returns the texts of which a run makes one from the code


class RuleSource(NamedTuple):
    """The place of a rule. `line` is 1-based; 0 means the whole file, or a shipped default."""

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
    """A rule that matched."""

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
    path: str = ""  # the path that a file rule matches
    access: str = ""  # `read` or `write`, of `path`

    def to_json(self) -> dict[str, object]:
        """Return the match as plain JSON values."""
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
        """Return True if the program may run as it is."""
        return self.decision is Decision.ALLOW

    def to_json(self) -> dict[str, object]:
        """Return the verdict as plain JSON values."""
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

Report = Callable[[Exception], str]  # reports a defect, and returns a sentence about it


def not_judged(report: str) -> str:
    """Return the reason if judging raised an exception with this report."""
    return f"it could not be judged: {' '.join(report.split())}"


RuleKind = Literal["command", "read", "edit", "fetch", "tool", "download"]


class Rule(NamedTuple):
    """A rule that decides whether a program may act."""

    id: str
    kind: RuleKind
    text: str  # the rule as written
    spec: str  # the compared text: a command pattern, a gitignore line, a domain pattern or a tool
    decision: Decision
    source: RuleSource
    anchor: str | None = None  # the folder a path pattern is relative to; None is any folder
    reason: str = ""
    advice: str = ""
    redirect: Redirect | None = None  # `{url}`, `{path}` and `{command}` are filled in


class Rules(NamedTuple):
    """The rules in force."""

    rules: tuple[Rule, ...] = ()
    sources: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    default: Decision = Decision.ALLOW  # the answer if no rule matches
    untrusted: tuple[Rule, ...] = ()  # allow rules of a project that is not trusted, not in force

    def of(self, *kinds: RuleKind) -> tuple[Rule, ...]:
        """Return the rules of some kinds, in order of their sources."""
        return tuple(rule for rule in self.rules if rule.kind in kinds)

    def restricting(self, *kinds: RuleKind) -> tuple[Rule, ...]:
        """Return the rules of some kinds that deny or ask: for commands, those that make unknown
        code a matter of concern."""
        strict = (Decision.DENY, Decision.ASK)
        return tuple(rule for rule in self.of(*kinds) if rule.decision in strict)


# Shipped: a download that would land in the context has a better tool.
DEFAULT_RULES = (
    Rule(
        id="default.download",
        kind="download",
        text="curl and wget whose answer reaches the output",
        spec="*",
        decision=Decision.REDIRECT,
        source=RuleSource("shipped defaults"),
        reason="the answer would fill the context window",
        advice="The tool indexes the page and returns only the relevant parts.",
        redirect=Redirect("ctx_fetch_and_index", {"url": "{url}"}),
    ),
)

# Not in the list above, because no file can loosen it: see base/addresses.py.
ADDRESS_RULE = Rule(
    id="default.address",
    kind="fetch",
    text="addresses that may be fetched",
    spec="*",
    decision=Decision.DENY,
    source=RuleSource("shipped defaults"),
    advice="Fetch a page of the internet, over http or https and without credentials in its URL.",
)
