"""The data of pipelines: steps in the file, cases of a run, and their outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import product
from typing import Any

from ctxmode.config.files import ConfigFile
from executor import Limits

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One step of the file; exactly one of code and script is set."""

    name: str
    language: str
    line: int  # its first line in the file
    code: str | None = None
    script: str | None = None
    needs: tuple[str, ...] = ()  # steps that must have passed
    matrix: Mapping[str, tuple[Scalar, ...]] = field(
        default_factory=dict
    )  # one run per combination
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()  # globs of input files for the cache; none means all
    artifacts: tuple[str, ...] = ()  # globs of files to save
    expect_exit: tuple[int, ...] = (0,)  # exit codes that count as passing
    packages: tuple[str, ...] = ()  # packages to install
    profile: str = "analyze"
    timeout_s: float | None = None
    limits: Limits | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline file."""

    name: str
    path: str
    steps: tuple[PipelineStep, ...]


@dataclass(frozen=True, slots=True)
class PipelineCase:
    """A step with one combination of its matrix."""

    step: PipelineStep
    values: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def name(self) -> str:
        if not self.values:
            return self.step.name
        return f"{self.step.name} ({', '.join(f'{k}={v}' for k, v in self.values.items())})"

    def fill(self, text: str) -> str:
        """Replace `{matrix.NAME}` in a text by the case's value."""
        for key, value in self.values.items():
            text = text.replace(f"{{matrix.{key}}}", str(value))
        return text


class CaseStatus(StrEnum):
    """The result of a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one case."""

    name: str
    step: str
    line: int
    verdict: CaseStatus
    reason: str = ""
    exit_code: int | None = None
    wall_s: float = 0.0
    output: str = ""
    tier: str = ""
    artifacts: tuple[str, ...] = ()
    source: str = "run"  # "run", "cache", or "before" for an earlier run's

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict.value, "artifacts": list(self.artifacts)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """Read the data of `to_json`; raise ValueError, TypeError or KeyError for other data."""
        verdict, artifacts = CaseStatus(data["verdict"]), tuple(data["artifacts"])
        return cls(**{**data, "verdict": verdict, "artifacts": artifacts})


@dataclass(frozen=True, slots=True)
class PipelineReport:
    """One run of a pipeline."""

    pipeline: Pipeline
    outcomes: tuple[Outcome, ...]
    wall_s: float
    tier: str = ""

    @property
    def ok(self) -> bool:
        return all(outcome.verdict is CaseStatus.PASSED for outcome in self.outcomes)

    def count(self, verdict: CaseStatus) -> int:
        return sum(outcome.verdict is verdict for outcome in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        return {
            "pipeline": self.pipeline.name,
            "file": self.pipeline.path,
            "ok": self.ok,
            "tier": self.tier,
            "wall_s": round(self.wall_s, 3),
            "cases": [outcome.to_json() for outcome in self.outcomes],
        }


CASES_MAX = 256


def check_graph(file: ConfigFile, steps: Sequence[PipelineStep]) -> None:
    """Raise UsageError for duplicate names, unknown needs, cycles or too many cases."""
    places = {step.name: ("step", f"#{number}") for number, step in enumerate(steps, start=1)}
    seen: dict[str, int] = {}
    for number, step in enumerate(steps, start=1):
        where = ("step", f"#{number}")
        if step.name in seen:
            raise file.error(
                (*where, "name"),
                f"duplicate step name {step.name!r}, also on line {seen[step.name]}",
                "Rename one of them.",
            )
        seen[step.name] = step.line
        for need in step.needs:
            if need not in places:
                raise file.unknown((*where, "needs", need), places)
        count = math.prod(len(values) for values in step.matrix.values())
        if count > CASES_MAX:
            raise file.error(
                (*where, "matrix"),
                f"the matrix of {step.name!r} makes {count:,} cases",
                f"There may be {CASES_MAX}: split the step, or loop inside it.",
            )
    if circle := find_circle(steps):
        raise file.error(
            (*places[circle[0]], "needs"),
            f"these steps wait for each other: {' → '.join(circle)}",
            "Take one of the needs away.",
        )


def find_circle(steps: Sequence[PipelineStep]) -> list[str]:
    """Return the steps of a cycle, the first one again at the end; empty without a cycle."""
    needs = {step.name: step.needs for step in steps}
    done: set[str] = set()
    for start, first in needs.items():
        trail: list[str] = []
        waiting = [(start, iter(first))]
        while waiting:
            name, rest = waiting[-1]
            if not trail or trail[-1] != name:
                trail.append(name)
            following = next((n for n in rest if n not in done), None)
            if following is None:
                done.add(name)
                waiting.pop()
                trail.pop()
            elif following in trail:
                return [*trail[trail.index(following) :], following]
            else:
                waiting.append((following, iter(needs[following])))
    return []


def cases_of(step: PipelineStep) -> list[PipelineCase]:
    """List a step's cases, in the order of its matrix."""
    names = list(step.matrix)
    return [
        PipelineCase(step, dict(zip(names, values, strict=True)))
        for values in product(*step.matrix.values())
    ]
