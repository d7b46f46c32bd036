"""The order of a pipeline's steps: what needs what, checked, and a matrix taken apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from ctxmode.config.files import ConfigFile
from ctxmode.pipelines.model import PipelineCase, PipelineStep

CASES_MAX = 256


def check_graph(file: ConfigFile, steps: Sequence[PipelineStep]) -> None:
    """Check that names are unique, needs are known, nothing waits for itself, and cases are few; a
    UsageError names the line."""
    places = {step.name: ("step", f"#{number}") for number, step in enumerate(steps, start=1)}
    seen: dict[str, int] = {}
    for number, step in enumerate(steps, start=1):
        where = ("step", f"#{number}")
        if step.name in seen:
            raise file.error(
                (*where, "name"),
                f"two steps are called {step.name!r}, the other on line {seen[step.name]}",
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
    """Find names of steps that wait for each other, the first one again at the end; empty if
    none."""
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
