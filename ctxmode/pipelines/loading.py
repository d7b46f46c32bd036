"""Loading of pipeline files; every error names the file and the line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from base.wording import list_choices
from ctxmode.commands.run import limits
from ctxmode.config.files import ConfigFile, parse, read_config_file
from ctxmode.errors import UsageError
from ctxmode.pipelines.model import Pipeline, PipelineStep, check_graph
from executor import Limits
from runtimes import UnknownLanguage, language, language_for_file

KEYS = ("name", "profile", "timeout_s", "limits", "step")
STEP_KEYS = (
    *("name", "language", "code", "script", "needs", "matrix", "args", "env", "inputs"),
    *("artifacts", "expect_exit", "packages", "profile", "timeout_s", "limits"),
)
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
        given: Mapping[str, Any] = {
            k: v for k, v in self._file.data.items() if k in ("profile", "timeout_s")
        } | table
        name = self._text(given, "name")
        if not name:
            raise self._error((), f"step {number} has no name", 'Write name = "…".')
        code, script = self._text(given, "code"), self._text(given, "script")
        self._check_placeholders(given)
        return PipelineStep(
            name=name,
            language=self._language(given, script),
            line=self._line(),
            code=code,
            script=self._script(code, script),
            needs=self._texts(given, "needs"),
            matrix=self._matrix(given),
            args=self._texts(given, "args"),
            env=self._env(given),
            inputs=self._globs(given, "inputs"),
            artifacts=self._globs(given, "artifacts"),
            expect_exit=self._exits(given),
            packages=self._texts(given, "packages"),
            profile=self._text(given, "profile") or "analyze",
            timeout_s=self._seconds(given),
            limits=self._limits(table) or self._usual,
        )

    def _line(self) -> int:
        return self._file.lines.get(self._at, 1)

    def _error(self, key: tuple[str, ...], problem: str, hint: str) -> UsageError:
        return self._file.error((*self._at, *key), problem, hint)

    def _text(self, given: Mapping[str, Any], key: str) -> str | None:
        value = given.get(key)
        if value is not None and not isinstance(value, str):
            raise self._error((key,), f"invalid {key} {value!r}", "Write a text in quotes.")
        return value

    def _texts(self, given: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = given.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._error((key,), f"invalid {key} {value!r}", "Write a list of texts.")
        return tuple(value)

    def _globs(self, given: Mapping[str, Any], key: str) -> tuple[str, ...]:
        globs = self._texts(given, key)
        for glob in globs:
            if len(glob) > GLOB_CHARS_MAX or glob.count("**") > ANY_FOLDERS_MAX:
                problem = f"{key} has {glob[:80]!r}, of over {GLOB_CHARS_MAX:,} characters"
                hint = "Name the files, or their folder."
                raise self._error((key,), f"{problem} or {ANY_FOLDERS_MAX} times **", hint)
        return globs

    def _language(self, given: Mapping[str, Any], script: str | None) -> str:
        name = self._text(given, "language")
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

    def _matrix(self, given: Mapping[str, Any]) -> Mapping[str, tuple[str | int | float, ...]]:
        matrix = given.get("matrix", {})
        is_table = isinstance(matrix, dict)
        if not is_table or not all(isinstance(v, list) and v for v in matrix.values()):
            raise self._error(
                ("matrix",),
                "invalid matrix: its values must be lists",
                "Write { year = [2023, 2024] }.",
            )
        for key, values in matrix.items():
            if not all(isinstance(value, str | int | float | bool) for value in values):
                raise self._error(
                    ("matrix", key),
                    f"invalid {key} {values!r}",
                    "Use texts, numbers, true or false.",
                )
        return {key: tuple(values) for key, values in matrix.items()}

    def _check_placeholders(self, given: Mapping[str, Any]) -> None:
        """Check that every placeholder names a value of the matrix. Code is not checked."""
        known = self._matrix(given)
        texts = (
            *(("args", text) for text in self._texts(given, "args")),
            *(("env", text) for text in self._env(given).values()),
            *(("artifacts", text) for text in self._texts(given, "artifacts")),
        )
        for key, text in texts:
            for name in PLACEHOLDER.findall(text):
                if name not in known:
                    hint = list_choices(name, known) if known else "Write matrix = { … }."
                    raise self._error((key,), f"no {name!r} in the step's matrix", hint)

    def _env(self, given: Mapping[str, Any]) -> Mapping[str, str]:
        env = given.get("env", {})
        if not isinstance(env, dict) or not all(isinstance(v, str) for v in env.values()):
            raise self._error(("env",), f"invalid env {env!r}", 'Write { NAME = "value" }.')
        return env

    def _exits(self, given: Mapping[str, Any]) -> tuple[int, ...]:
        value = given.get("expect_exit", 0)
        codes = value if isinstance(value, list) else [value]
        valid: Callable[[Any], bool] = lambda code: type(code) is int and 0 <= code <= 255  # noqa: E731
        if not codes or not all(map(valid, codes)):
            raise self._error(
                ("expect_exit",),
                f"invalid expect_exit {value!r}",
                "Use whole numbers from 0 to 255.",
            )
        return tuple(codes)

    def _seconds(self, given: Mapping[str, Any]) -> float | None:
        value = given.get("timeout_s")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise self._error(
                ("timeout_s",), f"invalid timeout_s {value!r}", "Use a positive number."
            )
        return float(value)

    def _limits(self, given: Mapping[str, Any]) -> Limits | None:
        table = given.get("limits", {})
        if not isinstance(table, dict):
            raise self._error(
                ("limits",), "limits is not a table", "Write { memory_bytes = '1G' }."
            )
        for name, value in table.items():
            try:
                limits([f"{name}={value}"])
            except UsageError as error:
                raise self._error(("limits", name), error.message, error.hint) from None
        return limits([f"{name}={value}" for name, value in table.items()], self._usual)
