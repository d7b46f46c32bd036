"""Pipelines: the file and its steps, cases of a run, and their outcomes."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from base.wording import list_choices
from ctxmode.commands.run import limits
from ctxmode.config.files import ConfigFile, parse, read_config_file
from ctxmode.errors import UsageError
from executor import Limits
from runtimes import UnknownLanguage, language, language_for_file

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


KEYS = ("name", "profile", "timeout_s", "limits", "step")
ExitCode = Annotated[int, Meta(ge=0, le=255)]
SomeOf = Meta(min_length=1)
_TEXT: tuple[Any, str] = (str, "Write a text in quotes.")
_TEXTS: tuple[Any, str] = (tuple[str, ...], "Write a list of texts.")
STEP_KEYS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(("name", "language", "code", "script", "profile"), _TEXT),
    **dict.fromkeys(("needs", "args", "inputs", "artifacts", "packages"), _TEXTS),
    "matrix": (
        dict[str, Annotated[tuple[Scalar, ...], SomeOf]],
        "Write { year = [2023, 2024] }: lists of texts, numbers, true or false.",
    ),
    "env": (dict[str, str], 'Write { NAME = "value" }.'),
    "expect_exit": (
        ExitCode | Annotated[tuple[ExitCode, ...], SomeOf],
        "Use whole numbers from 0 to 255.",
    ),
    "timeout_s": (Annotated[float, Meta(gt=0)], "Use a positive number."),
    "limits": (dict[str, Any], "Write { memory_bytes = '1G' }."),
}
"""The keys of a step: the type of each, and the remedy for another value."""

STEPS_MAX = 500
GLOB_CHARS_MAX = 1024
ANY_FOLDERS_MAX = 4
PLACEHOLDER = re.compile(r"\{matrix\.([^{}]*)\}")


def load(path: Path, project: Path, usual: Limits) -> Pipeline:
    """Load the pipeline of a file; raise UsageError if it is unreadable or invalid."""
    if not path.is_file():
        raise UsageError(
            f"cannot read {path}: no such file",
            "Name a pipeline file: context-mode ci FILE.toml, or - for stdin.",
        )
    own = project if path.absolute().is_relative_to(project) else Path("/")
    return pipeline_of(read_config_file(path, own), project, usual)


def load_stdin(project: Path, usual: Limits) -> Pipeline:
    """Load the pipeline on stdin, called `stdin` in errors; raise UsageError as `load` does."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"stdin is not UTF-8: {error}", "Pipe in the TOML of a pipeline."
        ) from error
    return pipeline_of(parse(Path("stdin"), text), project, usual)


def pipeline_of(file: ConfigFile, project: Path, usual: Limits) -> Pipeline:
    """Build the pipeline of a file's data; raise UsageError for invalid keys or values."""
    for key in file.data:
        if key not in KEYS:
            raise file.unknown((key,), KEYS)
    tables = file.data.get("step")
    if not isinstance(tables, list) or not tables:
        raise file.error(
            ("step",), "no steps", 'Write [[step]] with name = "…" and code or script.'
        )
    if len(tables) > STEPS_MAX:
        raise file.error(
            ("step",), f"too many steps: {len(tables):,}", f"Use up to {STEPS_MAX:,} steps."
        )
    reader = _StepReader(file, project, usual)
    steps = tuple(reader.step(number, table) for number, table in enumerate(tables, start=1))
    check_graph(file, steps)
    return Pipeline(str(file.data.get("name", file.path.stem)), str(file.path), steps)


class _StepReader:
    """A reader of the steps of one file."""

    def __init__(self, file: ConfigFile, project: Path, usual: Limits) -> None:
        self._file = file
        self._project = project
        self._at: tuple[str, ...] = ()
        self._usual = usual
        self._usual = self._limits(file.data) or usual

    def step(self, number: int, table: object) -> PipelineStep:
        """Read one step; raise UsageError for an invalid key or value."""
        self._at = ("step", f"#{number}")
        if not isinstance(table, dict):
            raise self._error((), f"step {number} is not a table", "Write [[step]].")
        for key in table:
            if key not in STEP_KEYS:
                raise self._file.unknown((*self._at, key), STEP_KEYS)
        usual = {k: v for k, v in self._file.data.items() if k in ("profile", "timeout_s")}
        given = {key: self._read(key, value) for key, value in (usual | table).items()}
        if not given.get("name"):
            raise self._error((), f"step {number} has no name", 'Write name = "…".')
        self._check_placeholders(given)
        for key in ("inputs", "artifacts"):
            self._check_globs(key, given.get(key, ()))
        code, script = given.get("code"), given.get("script")
        exits = given.pop("expect_exit", 0)
        own = {
            "language": self._language(given.get("language"), script),
            "script": self._script(code, script),
            "expect_exit": exits if isinstance(exits, tuple) else (exits,),
            "limits": self._limits(table) or self._usual,
        }
        return PipelineStep(**(given | own), line=self._line())

    def _read(self, key: str, value: object) -> Any:  # noqa: ANN401 - as the key's type
        kind, remedy = STEP_KEYS[key]
        if key == "matrix":
            problem = "invalid matrix: its values must be lists"
        else:
            problem = f"invalid {key} {value!r}"
        return self._file.read((*self._at, key), value, kind, problem, remedy)

    def _line(self) -> int:
        return self._file.lines.get(self._at, 1)

    def _error(self, key: tuple[str, ...], problem: str, hint: str) -> UsageError:
        return self._file.error((*self._at, *key), problem, hint)

    def _check_globs(self, key: str, globs: tuple[str, ...]) -> None:
        for glob in globs:
            if len(glob) > GLOB_CHARS_MAX or glob.count("**") > ANY_FOLDERS_MAX:
                problem = f"{key} has {glob[:80]!r}, of over {GLOB_CHARS_MAX:,} characters"
                hint = "Name the files, or their folder."
                raise self._error((key,), f"{problem} or {ANY_FOLDERS_MAX} times **", hint)

    def _language(self, name: str | None, script: str | None) -> str:
        try:
            if name is not None:
                return language(name).name
            if script is not None:
                return language_for_file(self._project / script).name
        except UnknownLanguage as error:
            raise self._error(("language",), str(error), 'Write language = "python".') from error
        except OSError as error:
            hint = "Name a file of the project."
            raise self._error(("script",), f"no script {script!r}", hint) from error
        raise self._error((), "the step has no language", 'Write language = "python".')

    def _script(self, code: str | None, script: str | None) -> str | None:
        if (code is None) == (script is None):
            raise self._error((), "code and script exclude each other", "Remove one of them.")
        if script is not None and not (self._project / script).is_file():
            raise self._error(
                ("script",),
                f"no script {script!r} in {self._project}",
                "Name a file of the project.",
            )
        return script

    def _check_placeholders(self, given: Mapping[str, Any]) -> None:
        """Check that every placeholder names a value of the matrix. Code is not checked."""
        known = given.get("matrix", {})
        texts = [(key, text) for key in ("args", "artifacts") for text in given.get(key, ())]
        texts += [("env", text) for text in given.get("env", {}).values()]
        for key, text in texts:
            for name in PLACEHOLDER.findall(text):
                if name not in known:
                    hint = list_choices(name, known) if known else "Write matrix = { … }."
                    raise self._error((key,), f"no {name!r} in the step's matrix", hint)

    def _limits(self, given: Mapping[str, Any]) -> Limits | None:
        table = given.get("limits", {})
        if not isinstance(table, dict):
            raise self._error(("limits",), "limits is not a table", STEP_KEYS["limits"][1])
        for name, value in table.items():
            try:
                limits([f"{name}={value}"])
            except UsageError as error:
                raise self._error(("limits", name), error.message, error.hint) from None
        return limits([f"{name}={value}" for name, value in table.items()], self._usual)
