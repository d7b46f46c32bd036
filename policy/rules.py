"""Rules as data, whatever file they came from."""

from typing import Literal, NamedTuple

from policy.model import Decision, Redirect, RuleSource

RuleKind = Literal["command", "read", "edit", "fetch", "tool", "download"]


class Rule(NamedTuple):
    """A rule that decides what a program may do."""

    id: str
    kind: RuleKind
    text: str  # the rule as written
    spec: str  # what is compared: a command pattern, a gitignore line, a domain pattern or a tool
    decision: Decision
    source: RuleSource
    anchor: str | None = None  # the folder a path pattern is relative to; None is any folder
    reason: str = ""
    advice: str = ""
    redirect: Redirect | None = None  # `{url}`, `{path}` and `{command}` are filled in


class Rules(NamedTuple):
    """Every rule in force."""

    rules: tuple[Rule, ...] = ()
    sources: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    default: Decision = Decision.ALLOW  # the answer for what no rule speaks of
    untrusted: tuple[Rule, ...] = ()  # allow rules of a project that is not trusted, not in force

    def of(self, *kinds: RuleKind) -> tuple[Rule, ...]:
        """The rules of some kinds, in order of their sources."""
        return tuple(rule for rule in self.rules if rule.kind in kinds)

    def restricting(self, *kinds: RuleKind) -> tuple[Rule, ...]:
        """The rules of some kinds that deny or ask: for commands, those that make unknown code a
        matter of concern."""
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
        advice="Fetched by the tool it is indexed, and only what matters comes back.",
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
