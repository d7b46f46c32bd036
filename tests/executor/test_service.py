"""The engine's own steps, its parts being stand-ins: what is judged, refused, placed, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import policy
import runtimes
from executor import Caller, Completed, Isolation, LanguageReport, Limits, Request, Result, Status
from executor.engine.engine import Terms
from executor.engine.tiers import TIERS
from executor.model import PackagesError, RequestError
from executor.network import allowlist
from executor.request import ANALYZE, PROFILES, CheckedRequest, Profile, ProjectAccess
from executor.service import LocalEngine

RULES = policy.Rules()
ONLINE = Profile("online", ProjectAccess.COPY_ON_WRITE, network=allowlist.parse(("example.org",)))
STRICT = replace(ANALYZE, name="strict", floor="A")
LIVE = Profile("live", ProjectAccess.LIVE)


@dataclass
class Place:
    project: Path
    tier: str = "A"
    travels: bool = False
    denied: list[object] = field(default_factory=list)

    @property
    def can(self) -> object:
        return TIERS[self.tier]

    @property
    def isolation(self) -> Isolation:
        return Isolation(self.tier)

    @property
    def search(self) -> Place:
        return self

    def deny(self, denied: object) -> None:
        self.denied.append(denied)

    def shortfall(self) -> str:
        return "and so on"


class Everything:
    """All parts at once: each notes what it was asked for."""

    def __init__(self, place: Place, decision: policy.Decision = policy.Decision.ALLOW) -> None:
        self.placement = place
        self.decision = decision
        self.runs = True
        self.asked: list[str] = []

    async def verdict(self, subject: policy.Subject, rules: object, tools: object) -> Any:
        self.asked.append(f"judge {subject.code}")
        return policy.Verdict(self.decision)

    async def choose(self, language: runtimes.Language, **_: object) -> Any:
        self.asked.append(f"choose {language.name}")
        if not self.runs:
            return LanguageReport(language.name, runnable=False, reason="not here", hint="get it")
        return runtimes.Candidate(language, language.toolchains[0], {}, {}, (), ())

    def version(self, candidate: object) -> None:
        return None

    def folders(self, candidate: object) -> tuple[()]:
        return ()

    async def run(self, first: object, *_: object, **__: object) -> Completed:
        """Of the runner, which gets what makes a job, or of the compiler, which gets the whole."""
        self.asked.append("run" if callable(first) else "compile")
        return Completed(Result(Status.OK))

    async def call(self, name: str, *_: object, **__: object) -> Completed:
        self.asked.append(f"session {name}")
        return Completed(Result(Status.OK))


Make = Callable[..., tuple[LocalEngine, Everything]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(
        *, tier: str = "A", decision: policy.Decision = policy.Decision.ALLOW, guarded: bool = True
    ) -> tuple[LocalEngine, Everything]:
        parts: Any = Everything(Place(tmp_path, tier), decision)
        profiles = PROFILES | {one.name: one for one in (ONLINE, STRICT, LIVE)}
        rules = (lambda: RULES) if guarded else None
        terms = Terms(tmp_path, tmp_path, rules, profiles, Limits())
        names = ("runner", "pool", "toolchains", "sessions", "caches", "judges")
        together = dict.fromkeys((*names, "instance"), parts)
        lazy = {"compiler": lambda: parts, "packages": lambda: parts}
        return LocalEngine(terms, **together, **lazy), parts

    return made


async def test_a_request_is_judged_then_a_toolchain_chosen_then_it_is_run(make: Make):
    engine, parts = make()
    completed = await engine.run(Request("python", "print(1)"))
    assert parts.asked == ["judge print(1)", "choose python", "run"]
    assert completed.result.toolchain == runtimes.language("python").toolchains[0].name
    assert completed.result.verdict is not None


async def test_without_rules_nothing_is_judged(make: Make):
    engine, parts = make(guarded=False)
    assert (await engine.run(Request("python", "print(1)"))).result.verdict is None
    assert parts.asked == ["choose python", "run"]


@pytest.mark.parametrize(
    ("decision", "status"),
    [(policy.Decision.DENY, Status.DENIED), (policy.Decision.ASK, Status.DENIED)],
)
async def test_what_the_rules_refuse_goes_no_further(make: Make, decision, status):
    engine, parts = make(decision=decision)
    refused = await engine.run(Request("shell", "true"))
    assert (refused.result.status, parts.asked) == (status, ["judge true"])


async def test_what_a_person_agrees_to_goes_on(make: Make):
    async def agree(verdict: object) -> bool:
        return True

    engine, parts = make(decision=policy.Decision.ASK)
    judged = await engine.judge(Request("shell", "true"), Caller(consent=agree))
    assert isinstance(judged, CheckedRequest)
    assert (await engine.place(judged)).result.status is Status.OK
    assert parts.asked == ["judge true", "choose shell", "run"]


@pytest.mark.parametrize(
    ("tier", "profile", "is_met"),
    [
        ("A", "strict", True),
        ("A", "online", True),
        ("A", "live", True),
        ("B", "analyze", True),
        ("B", "strict", False),
        ("B", "online", False),
        ("B", "live", False),
        ("C", "online", True),
        ("C", "strict", False),
        ("C", "live", False),
    ],
)
async def test_what_a_tier_lacks_is_refused_before_anything_is_asked(make, tier, profile, is_met):
    engine, parts = make(tier=tier)
    result = (await engine.run(Request("shell", "true", profile=profile))).result
    assert (result.status is Status.OK) == is_met
    if not is_met:
        assert result.status is Status.SANDBOX_UNAVAILABLE
        assert f"profile {profile} needs tier A" in result.message
        assert parts.asked == []


@pytest.mark.parametrize(
    ("tier", "travels", "words"),
    [
        ("B", False, "packages need tier A or C"),
        ("C", True, "packages need an engine that mounts folders"),
    ],
)
async def test_packages_need_boxes_that_show_them(make, tier, travels, words):
    engine, parts = make(tier=tier)
    parts.placement.travels = travels
    wanted = Request("python", "print(1)", packages=("alpha",))
    result = (await engine.run(wanted)).result
    assert result.status is Status.SANDBOX_UNAVAILABLE
    assert words in result.message
    with pytest.raises(PackagesError, match=words):
        await engine.have_packages(wanted, Caller(), fetch=True)
    assert parts.asked == []


async def test_a_language_that_does_not_run_is_an_error_with_its_hint(make: Make):
    engine, parts = make()
    parts.runs = False
    with pytest.raises(RequestError, match="not here") as told:
        await engine.run(Request("ruby", "puts 1"))
    assert told.value.hint == "get it"


async def test_a_session_is_called_by_its_name_and_owner(make: Make):
    engine, parts = make()
    await engine.run(Request("shell", "true", session="one"))
    await engine.run(Request("shell", "true", session="one", owner="another"))
    assert [a for a in parts.asked if a.startswith("session")] == [
        "session one",
        "session another one",
    ]


async def test_what_rules_deny_to_read_is_hidden_before_the_run(make: Make):
    engine, parts = make()
    await engine.run(Request("shell", "true"))
    assert len(parts.placement.denied) == 1


@pytest.mark.parametrize(
    ("language", "asked"),
    [("python", "run"), ("shell", "run"), ("go", "compile"), ("c", "compile")],
)
async def test_only_what_is_compiled_by_itself_goes_to_the_compiler(make: Make, language, asked):
    engine, parts = make()
    await engine.run(Request(language, "x"))
    assert parts.asked[-1] == asked
