"""Build a `Program` from a candidate and a request; only reads a script or project folder.

Placeholders of the rows' templates: a role of the toolchain's executables (`{python}`) is its path,
`{role.folder}` the folder of its real path. `{source}` is the text to run or compile, `{entry}` the
row's `entry` of it. `{source.root}` is the folder from which `{entry}`, dots for slashes, leads to
a script. `{out}` is the compiled file; `{job}`, `{scratch}` and `{cwd}` are folders. An element
that is exactly `{args}`, `{prelude}`, `{bind}`, `{project}` or `{packages}` stands for any number
of arguments.
"""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from runtimes.languages import read_file
from runtimes.model import (
    Candidate,
    CompileInputs,
    Driver,
    Language,
    PrewarmPlan,
    Program,
    ProgramText,
    Step,
    as_is,
)
from runtimes.registry import language

_FOLDER: Final = ".prewarm"  # the folder of files that are gone before the program starts
_LOADED: Final = ("LD_PRELOAD", "LD_LIBRARY_PATH")  # that make any program read more


def helper(candidate: Candidate) -> str | None:
    """Return the program that this toolchain compiles in order to wait, if it needs one.

    Raises:
        OSError: it cannot be read.
    """
    command = candidate.toolchain.prewarm
    return read_file(command.file) if command and command.compiled else None


def as_helper(candidate: Candidate) -> Candidate:
    """Return the candidate that prepares the `helper`, which is whole and named for its class."""
    toolchain = candidate.toolchain
    file = posixpath.basename(toolchain.prewarm.file) if toolchain.prewarm else ""
    whole = replace(toolchain, wrap=lambda code: ProgramText(code, name=file))
    return candidate._replace(toolchain=whole)


@cache
def _archive(manifest: str, compiled: tuple[tuple[str, bytes], ...]) -> bytes:
    """Return the same bytes for the same files, by which an interpreter is identified."""
    import zipfile  # noqa: PLC0415 - only for a JVM's archive

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), manifest)
        for path, content in compiled:
            _, _, name = path.partition("/")  # without the product's own folder
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


_BASE_ENV: Final = {"LANG": "C.UTF-8", "NO_COLOR": "1"}
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+(?:\.folder|\.root)?)\}")

INTERACTIVE: Final = "interactive"
"""The argument of a driver that serves a user: it shows values, and survives SIGINT."""


def prepare(  # noqa: PLR0913 - keyword-only: the whole of one run
    candidate: Candidate,
    *,
    code: str | None = None,
    script_path: str | None = None,
    bind_file: str | None = None,
    job_dir: str = "/job",
    scratch_dir: str = "/tmp",
    cwd: str,
    args: Sequence[str] = (),
) -> Program:
    """Return the files to place and the processes to start for one run.

    Exactly one of `code` and `script_path` is given. A script runs in place, under its own path,
    unless binding a file or reading its main class needs its text. All paths are absolute and as
    the sandbox shows them; a script must be readable here under the same path.

    Raises:
        ValueError: both or neither of `code` and `script_path` are given, or the code holds lone
            surrogates, which no UTF-8 file can.
        OSError: the script's text is needed and cannot be read.
    """
    if (code is None) == (script_path is None):
        raise ValueError("give exactly one of code and script_path")
    row, toolchain = candidate.language, candidate.toolchain
    edit = row.binding.edit if bind_file else None
    source = _source(candidate, code, script_path, needed=bool(edit or row.entry))
    if source and edit:
        source = edit(source)
    in_place = code is None and edit is None
    source_path = str(script_path) if source is None or in_place else f"{job_dir}/{source.name}"

    files = {} if source is None or in_place else {source.name: source.text}
    if code is not None and toolchain.prelude:
        files |= {name: read_file(path) for name, path in row.files.items()}
    if bind_file:
        files |= {name: read_file(path) for name, path in row.binding.files.items()}

    entry = row.entry(source) if row.entry and source else ""
    project_args, project_links = row.from_project(Path(cwd))
    products = tuple(f"{scratch_dir}/.{name}" for name in toolchain.products)
    values = {
        **candidate.paths,
        **{f"{role}.folder": posixpath.dirname(p) for role, p in candidate.real_paths.items()},
        "source": source_path,
        "source.root": _source_root(script_path, entry) if script_path else cwd,
        "entry": entry,
        "out": products[0],
        "job": job_dir,
        "scratch": scratch_dir,
        "cwd": cwd,
    }
    groups = {
        "{args}": tuple(args),
        "{prelude}": _expand(toolchain.prelude, values, {}) if code is not None else (),
        "{bind}": _expand(toolchain.bind, values, {}) if bind_file else (),
        "{project}": project_args,
        "{packages}": _expand(candidate.packages, values, {}),
    }
    plan = partial(_plan_prewarming, candidate, source, values, groups, in_place=in_place)
    steps = [Step(_expand(toolchain.run, values, groups), "run", heavy=toolchain.heavy)]
    if toolchain.compile:
        steps.insert(0, Step(_expand(toolchain.compile, values, groups), "compile"))
    return Program(
        files={name: text.encode() for name, text in files.items()},
        steps=tuple(steps),
        env=_environment(candidate, values, bind_file),
        links=project_links,
        products=products if toolchain.compile else (),
        caches=tuple(f"{scratch_dir}/{name}" for name in toolchain.caches),
        prewarm=plan("run"),
        compiler_prewarm=plan("compile"),
    )


@dataclass(frozen=True, slots=True)
class Completion:
    """A function that returns texts, one of which a run makes from a program in a language."""

    language: str
    is_script: bool
    in_session: bool
    interactive: bool

    def __call__(self, code: str) -> tuple[str, ...]:
        row = language(self.language)
        driver = _session_driver(row, interactive=self.interactive) if self.in_session else None
        texts = [driver.rewrite(code)] if driver else []
        for toolchain in row.toolchains:
            if driver is None or toolchain.name not in driver.toolchains:
                texts.append(code if self.is_script else (toolchain.wrap or row.wrap)(code).text)
        return tuple(dict.fromkeys(texts))


def completion(
    row: Language, *, is_script: bool, in_session: bool = False, interactive: bool = False
) -> Completion | None:
    """Return the function that makes such texts from a program; None: it stays as it is."""
    driver = _session_driver(row, interactive=interactive) if in_session else None
    wraps = [] if is_script else [toolchain.wrap or row.wrap for toolchain in row.toolchains]
    if all(wrap is as_is for wrap in wraps) and (driver is None or driver.rewrite is str):
        return None
    return Completion(row.name, is_script, in_session, interactive)


def _session_driver(row: Language, *, interactive: bool) -> Driver | None:
    return row.conversation if interactive else row.driver


def _plan_prewarming(  # noqa: PLR0913 - keyword-only: how the source is given
    candidate: Candidate,
    source: ProgramText | None,
    values: Mapping[str, str],
    groups: Mapping[str, Sequence[str]],
    phase: Literal["compile", "run"],
    *,
    in_place: bool,
) -> PrewarmPlan | None:
    """Plan serving this phase ahead of the program; None if that makes a difference.

    The files of a project's own interpreter may change until then. A gate instead of the program
    does not delay the reading of the bound file. The variables' lines must stay lines.

    Raises:
        OSError: the text by which it waits cannot be read.
    """
    toolchain = candidate.toolchain
    command = toolchain.prewarm
    if command is None or candidate.project_specific or "\n" in values["cwd"]:
        return None
    given = None if toolchain.compile else toolchain.run
    template = command.compile if phase == "compile" else command.run or given
    if template is None or (command.compiled and not candidate.compiled):
        return None
    if (source is None or in_place) and not (toolchain.compile and phase == "run"):
        return None
    if source and command.first_line and source.text.startswith("#!"):
        return None
    if command.gate == "{source}" and groups["{bind}"]:
        return None
    name, compiled = source.name if source else "", candidate.compiled
    gate = name if command.gate == "{source}" else command.gate
    files = {
        f"{_FOLDER}/{posixpath.basename(path)}": read_file(path).encode() for path in command.beside
    }
    if command.manifest:
        files[command.place] = _archive(command.manifest, tuple(sorted(compiled.items())))
    elif command.compiled:
        files[command.place] = next(iter(compiled.values()))
    elif command.file:
        files[command.place] = read_file(command.file).encode()
    if command.opened:
        files[name] = b"\n"
    heavy = toolchain.heavy and phase == "run"
    return PrewarmPlan(
        job_dir=values["job"],
        steps=(Step(_expand(template, values, groups), phase, heavy=heavy),),
        env={name: _fill(text, values) for name, text in command.env.items()},
        files=files,
        gate=gate,
        only_before=(_FOLDER,) if gate.startswith(f"{_FOLDER}/") else (),
        reads_early=command.reads_early,
        not_with=(*_LOADED, *command.not_with),
    )


def _source(
    candidate: Candidate, code: str | None, script_path: str | None, *, needed: bool
) -> ProgramText | None:
    """Return the text to run under its name, or None for a script that need not be read."""
    row, toolchain = candidate.language, candidate.toolchain
    if code is not None:
        source = (toolchain.wrap or row.wrap)(code)
        return source._replace(name=source.name or toolchain.source_name or row.source_name)
    if not needed:
        return None
    script = Path(str(script_path))
    return ProgramText(script.read_text("utf-8", "replace"), name=script.name, origin=str(script))


def _source_root(script_path: str, entry: str) -> str:
    folder = PurePosixPath(script_path).parent
    package = tuple(entry.split(".")[:-1])
    inside = len(package) and folder.parts[-len(package) :] == package
    return str(folder.parents[len(package) - 1] if inside else folder)


def _environment(
    candidate: Candidate, values: Mapping[str, str], bind_file: str | None
) -> dict[str, str]:
    row, toolchain = candidate.language, candidate.toolchain
    bind_env = {**toolchain.bind_env, "FILE_CONTENT_PATH": "{file}"} if bind_file else {}
    templates = {**_BASE_ENV, **row.env, **toolchain.env, **bind_env}
    env = {
        name: _fill(text, {**values, "file": bind_file or ""}) for name, text in templates.items()
    }
    for name, text in candidate.env.items():
        # Only lists of folders come from a home and from the row both.
        env[name] = _join(env[name], text) if name in env else text
    return env


def _join(listed: str, further: str) -> str:
    """Join a list of folders with other ones; Lua's ends with a mark for its default path."""
    if listed.endswith(";;"):
        return f"{listed[:-1]}{further};;"
    return f"{listed}:{further}"


def _expand(
    template: Sequence[str], values: Mapping[str, str], groups: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    argv: list[str] = []
    for element in template:
        argv.extend(groups[element] if element in groups else (_fill(element, values),))
    return tuple(argv)


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values[found.group(1)], text)


def reaches(inputs: CompileInputs, text: str) -> bool:
    """Return whether a source text may read other files, or the time.

    As it is, too: apparent comments may be in a string.
    """
    joined = re.sub(inputs.joins, "", text)
    spellings = (text, joined, re.sub(inputs.blanks, " ", joined, flags=re.DOTALL))
    return any(
        re.search(inputs.reaches, spelling)
        or not inputs.known.issuperset(re.findall(inputs.names, spelling))
        for spelling in spellings
    )


def heeds(inputs: CompileInputs, folders: Iterable[Path], *, except_for: str | None) -> bool:
    """Return whether one of the folders holds a file that affects compiling."""
    return any(
        str(path) != except_for
        for folder in folders
        for pattern in inputs.beside
        for path in folder.glob(pattern)
    )


def conversing(language: Language) -> tuple[str, ...]:
    """Return the toolchains that serve an interactive user best, in that order."""
    return language.conversation.toolchains if language.conversation else ()


def driver(candidate: Candidate, *, interactive: bool = False) -> Driver | None:
    """Return the driver that this toolchain can run; None: every program starts separately."""
    row = candidate.language
    found = row.conversation if interactive else row.driver
    return found if found and candidate.toolchain.name in found.toolchains else None


def driver_program(
    candidate: Candidate,
    *,
    job_dir: str,
    scratch_dir: str,
    cwd: str,
    interactive: bool = False,
) -> Program:
    """Return the files and processes with which the candidate's interpreter serves programs.

    Raises:
        ValueError: the candidate has no driver.
        OSError: the driver's text cannot be read.
    """
    found = driver(candidate, interactive=interactive)
    if found is None:
        raise ValueError(f"{candidate.toolchain.name} has no driver")
    program = prepare(
        candidate,
        code=read_file(found.file),
        job_dir=job_dir,
        scratch_dir=scratch_dir,
        cwd=cwd,
        args=(INTERACTIVE,) if interactive else (),
    )
    if found.starter:
        name = posixpath.basename(found.starter)
        start = ("/bin/sh", "-c", read_file(found.starter), name)
        steps = tuple(step._replace(argv=(*start, *step.argv)) for step in program.steps)
        program = program._replace(steps=steps)
    return program._replace(env={**program.env, **found.env})
