"""The data of a language: its row, where it was found on disk, and what to start for one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from runtimes.places import is_system

Fingerprint = tuple[tuple[str, int, int], ...]
"""(real path, mtime in ns, size) of every file whose change makes a probe's answer stale."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of what a row or a program may have none of."""


class ProgramText(NamedTuple):
    """A program text as it will lie in the job directory.

    `name` overrides the row's `source_name`. `wrapped` says that the text was completed from a bare
    body, so that later additions may rely on the wrapper. `origin` is the path of the script that
    the text was read from.
    """

    text: str
    name: str = ""
    wrapped: bool = False
    origin: str = ""


def as_is(code: str) -> ProgramText:
    """The code is already a program."""
    return ProgramText(code)


FromProject = tuple[tuple[str, ...], Mapping[str, str]]
"""What a language takes of the folder it runs in: arguments at `{project}`, and symbolic links
(name in the job directory -> target) that let the program find the folder's packages."""


def nothing_from_project(cwd: Path) -> FromProject:
    """Return nothing: the language finds what it needs by its environment alone."""
    del cwd
    return (), NOTHING


class FileBinding(NamedTuple):
    """How the content of one file becomes FILE_CONTENT.

    `files` are placed beside the program; they read the path from the environment variable
    FILE_CONTENT_PATH, so that no path is ever quoted into source text. `edit`, where a language
    cannot preload, makes the program see the names they declare, without moving its lines.
    """

    files: Mapping[str, str]
    edit: Callable[[ProgramText], ProgramText] | None = None


class HomeLibrary(NamedTuple):
    """Installed packages under a home folder that programs expect to import.

    `paths` is a glob below the home; what exists is bound read-only. `env` names the variable that
    tells the toolchain, `value` its value: `{home}` is the home, `{paths}` what was found,
    joined by colons.
    """

    paths: str
    env: str
    value: str = "{paths}"


class CompileInputs(NamedTuple):
    """What tells that compiling depends on more than the source text and the toolchain.

    `reaches` is a pattern of source text that may read further files, or the time. It is looked for
    in the text as it is, and without what a compiler takes out first: `joins` is a pattern of what
    leaves nothing, `blanks` of what leaves a blank. What `names` captures reaches further, too,
    unless it is `known`. `beside` are globs of files that compiling takes notice of, in the working
    folder, the source's, or those above. `complete` says that nothing else in a project can matter:
    what doesn't compile without the project doesn't compile with it.
    """

    reaches: str = r"(?!)"
    joins: str = r"(?!)"
    blanks: str = r"(?!)"
    names: str = r"(?!)()"
    known: frozenset[str] = frozenset()
    beside: tuple[str, ...] = ()
    complete: bool = True


class PrewarmCommand(NamedTuple):
    """How a toolchain's interpreter is started before it has a program, and waits for it.

    It waits for the end of a FIFO, `gate` in the job directory. It reads that by the help of
    `file`, a name in `runtimes/drivers`, placed at `place`. A gate that is `{source}` stands in
    place of the program's text, and needs no help. `run` replaces the toolchain's template, `env`
    variables that must not have their value yet. What is opened before the wait, and read behind
    it, is `opened`: an empty line in the program's place. What is not called as the program's own
    files are is gone before the program starts. `first_line` tells that a `#!` line can hold
    arguments, which come too late then; `reads_early`, that standard input is read from the start.
    Where programs are compiled, an interpreter by `run` waits for what that makes, and a compiler
    by `compile` for the source. A `compiled` file is a program of the toolchain's own language,
    which is compiled first. With a `manifest`, what that makes is placed as an archive. `beside`
    are more files of `runtimes/drivers`, for the gate's folder. `not_with` are variables by which
    the interpreter would read more before it waits.
    """

    file: str = ""
    place: str = ""
    gate: str = ".prewarm/gate"
    run: tuple[str, ...] | None = None
    env: Mapping[str, str] = NOTHING
    opened: bool = False
    first_line: bool = False
    reads_early: bool = False
    compile: tuple[str, ...] | None = None
    compiled: bool = False
    manifest: str = ""
    beside: tuple[str, ...] = ()
    not_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Toolchain:
    """One way to run a language. Templates hold `{placeholders}`; see `runtimes.program`.

    `executables` maps a role (the placeholder) to the names it goes by. All roles must be found;
    the first one decides how many candidates there are. `rank` orders what differs in what it can
    do: a lower rank is taken however slow it is, and speed decides only within a rank. `prelude` is
    put at `{prelude}` for code that is not a file of its own. `bind` is put at `{bind}` when a file
    is bound; `bind_env` then joins `env`. `reads` are globs outside /usr that it needs, `beside`
    globs (from an executable's real folder) of a native program that an npm launcher wraps. `wrap`
    and `source_name` override the language's. `products` are what compiling leaves, the first of
    them is `{out}`. `project_environment` looks for virtual environments of the project. `inputs`
    says when its products may be kept for the next run of the same source; None is never. `caches`
    are the folders below the scratch directory that it fills as it works. Another run may be shown
    them, read-only, at the same path. An interpreter with `prewarm` can be started ahead of its
    program. One that is `heavy` fills memory that it takes the kernel milliseconds to take apart,
    behind the program's end. `version` are the arguments that make the first executable say its
    version. A row is itself and nothing else, so it compares by identity.
    """

    name: str
    executables: Mapping[str, tuple[str, ...]]
    run: tuple[str, ...]
    compile: tuple[str, ...] | None = None
    prelude: tuple[str, ...] = ()
    bind: tuple[str, ...] = ()
    bind_env: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    rank: int = 1
    reads: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    wrap: Callable[[str], ProgramText] | None = None
    source_name: str = ""
    products: tuple[str, ...] = ("program",)
    inputs: CompileInputs | None = None
    caches: tuple[str, ...] = ()
    project_environment: bool = False
    prewarm: PrewarmCommand | None = None
    heavy: bool = False
    version: tuple[str, ...] = ("--version",)


class Driver(NamedTuple):
    """A program that keeps an interpreter between the calls of a session.

    `file` is its name in `runtimes/drivers`, where its protocol stands; `toolchains` are the names
    of those that run it, the best one first. `rewrite` prepares a session's program for it, without
    moving its lines. `starter` is a program of the shell in the same folder that starts it, `env`
    what its interpreter needs besides.
    """

    file: str
    toolchains: tuple[str, ...]
    rewrite: Callable[[str], str] = str
    starter: str = ""
    env: Mapping[str, str] = NOTHING


class Packages(NamedTuple):
    """What to install for a language, by package manager; `windows` is a winget identifier."""

    debian: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    fedora: tuple[str, ...] = ()
    arch: tuple[str, ...] = ()
    brew: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """One row of the table: all that the program knows about a language.

    `interpreters` are the names a `#!` line calls it by. `grammar` is its name among tree-sitter
    grammars, for whoever screens programs. `warm_up` is code that, run once, fills the caches of
    its toolchains. `entry` reads out of a source text what is to be
    started (Java's main class), for `{entry}`. Without a `driver` a session keeps files alone.
    `conversation` is the driver for a person who types programs: it shows their values, as the
    language's own console does, and an interrupt leaves it its state.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    extensions: tuple[str, ...]
    interpreters: tuple[str, ...]
    source_name: str
    grammar: str
    toolchains: tuple[Toolchain, ...]
    hello: str
    hello_output: str
    binding: FileBinding
    packages: Packages
    wrap: Callable[[str], ProgramText] = as_is
    files: Mapping[str, str] = field(default_factory=dict)
    entry: Callable[[str], str] | None = None
    from_project: Callable[[Path], FromProject] = nothing_from_project
    env: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[HomeLibrary, ...] = ()
    driver: Driver | None = None
    conversation: Driver | None = None
    warm_up: str = ""


class Candidate(NamedTuple):
    """A toolchain found on disk. Whether it runs is for a probe to say.

    `paths` are absolute, per role, in the form to invoke: a virtual environment's interpreter and a
    multi-call program must not be resolved further. `real_paths` are resolved. `binds` are the
    files and directories outside the system's own trees that a sandbox must show read-only.
    `project_specific` marks an interpreter that belongs to the project. `order` is the place in the
    preference: toolchains as the row lists them, then as the search path does. `compiled` is what
    the `file` by which it waits was compiled to, by path, where that is a program. `packages` are
    templates of the arguments by which it finds packages it was given. `programs` are folders of
    programs that the project's environments call by name.
    """

    language: Language
    toolchain: Toolchain
    paths: Mapping[str, str]
    real_paths: Mapping[str, str]
    binds: tuple[str, ...]
    fingerprint: Fingerprint
    project_specific: bool = False
    env: Mapping[str, str] = NOTHING
    order: int = 0
    compiled: Mapping[str, bytes] = NOTHING
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The executable that names this candidate to a reader."""
        return next(iter(self.paths.values()))

    @property
    def path_entries(self) -> tuple[str, ...]:
        """Directories to put on PATH so that programs find this toolchain by name."""
        own = [Path(path).parent for path in self.paths.values()]
        # The system's folders may have other programs of the same names.
        near = [folder for folder in own if self.programs and not is_system(folder)]
        return tuple(dict.fromkeys((*map(str, near), *self.programs, *map(str, own))))


class Step(NamedTuple):
    """One process to start. A failing compile step ends the program."""

    argv: tuple[str, ...]
    phase: Literal["compile", "run"]
    heavy: bool = False  # see `Toolchain`


class PrewarmPlan(NamedTuple):
    """What to place and to start so that an interpreter waits for one certain program's text.

    `env` are the variables that have another value until then. `gate` is the FIFO, and
    `only_before` is what has to be gone before the program starts. Names are in the job directory.
    With `reads_early` it can't be for a program that is given something to read, nor for one with a
    variable of `not_with`.
    """

    job_dir: str
    steps: tuple[Step, ...]
    env: Mapping[str, str]
    files: Mapping[str, bytes]
    gate: str
    only_before: tuple[str, ...]
    reads_early: bool = False
    not_with: tuple[str, ...] = ()


class Program(NamedTuple):
    """What to place and what to start.

    `files` and `links` (name -> target) go into the job directory, which is read-only at run time.
    `products` are the paths below the scratch directory that the compile steps write and the run
    step needs: the unit of a compile cache. `caches` are folders there that the toolchain itself
    keeps; what the row's `warm_up` leaves in them may be shown to later runs, read-only. `prewarm`
    starts its interpreter before the text is known, or before the compile steps have made it, where
    that makes no other difference. `compiler_prewarm` is the compiler's.
    """

    files: Mapping[str, bytes]
    steps: tuple[Step, ...]
    env: Mapping[str, str]
    links: Mapping[str, str] = NOTHING
    products: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    prewarm: PrewarmPlan | None = None
    compiler_prewarm: PrewarmPlan | None = None


class ProbeResult(NamedTuple):
    """What came of running a candidate's hello program in the sandbox.

    `start_ms` is the wall time of the run, compile steps included; None when it did not run,
    and then `reason` says why.
    """

    candidate: Candidate
    start_ms: float | None
    reason: str = ""

    @property
    def runnable(self) -> bool:
        return self.start_ms is not None
