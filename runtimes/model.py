"""Data of a language: its row, its place on disk, and the processes to start for one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from runtimes.languages import read_file, read_table
from runtimes.places import is_system

Fingerprint = tuple[tuple[str, int, int], ...]
"""(real path, mtime in ns, size) of every file whose change makes a probe's answer stale."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of optional parts of a row or program."""


class ProgramText(NamedTuple):
    """A program text as placed in the job directory."""

    text: str
    name: str = ""  # overrides the row's `source_name`
    wrapped: bool = False  # whether it was completed from a bare body; additions may use that
    origin: str = ""  # path of the script that the text was read from


def as_is(code: str) -> ProgramText:
    """Return the code, which is already a program."""
    return ProgramText(code)


FromProject = tuple[tuple[str, ...], Mapping[str, str]]
"""The parts that a language uses of its working folder: arguments at `{project}`, and symbolic
links (name in the job directory -> target) that let the program find the folder's packages."""


def nothing_from_project(cwd: Path) -> FromProject:
    """Return nothing: the language finds its files by its environment alone."""
    del cwd
    return (), NOTHING


class FileBinding(NamedTuple):
    """The way the content of one file becomes FILE_CONTENT.

    `files`, by the names under which they are placed next to the program, are in
    `runtimes/languages`. They read the path from the environment variable FILE_CONTENT_PATH, so
    that no path is ever quoted into source text. `edit`, if a language cannot preload, makes the
    program see the names they declare, without moving its lines.
    """

    files: Mapping[str, str]
    edit: Callable[[ProgramText], ProgramText] | None = None


class HomeLibrary(NamedTuple):
    """Installed packages under a home folder that programs expect to import."""

    paths: str  # a glob below the home; what exists is bound read-only
    env: str  # the variable that the toolchain reads
    value: str = "{paths}"  # of `env`; `{home}` is the home, `{paths}` the found paths, with colons


class CompileInputs(NamedTuple):
    """Signs that compiling depends on more than the source text and the toolchain.

    Patterns are looked for in the source text as it is, and after a compiler has removed `joins`
    and `blanks`.

    Attributes:
        beside: globs of files that affect compiling, in the working folder, the source's, or those
            above.
        complete: true if nothing else in a project matters: a text that doesn't compile without the
            project doesn't with it.
    """

    reaches: str = r"(?!)"  # a pattern of text that may read other files, or the time
    joins: str = r"(?!)"  # a pattern of text that a compiler removes without a trace
    blanks: str = r"(?!)"  # a pattern of text that a compiler replaces by a blank
    names: str = r"(?!)()"  # a pattern; captured names reach further, unless `known`
    known: frozenset[str] = frozenset()  # names captured by `names` that do not reach further
    beside: tuple[str, ...] = ()
    complete: bool = True


class PrewarmCommand(NamedTuple):
    """A way to start an interpreter before it has a program: it waits for the end of a FIFO.

    A `gate` of `{source}` replaces the program's text, and needs no help of `file`. Files not named
    like the program's own are gone before the program starts.

    Attributes:
        run: replaces the toolchain's template; if programs are compiled, this interpreter waits for
            the compiled files.
        opened: true if an empty line replaces the program, as that is opened before the wait and
            read after it.
        compiled: true if `file` is a program of the toolchain's own language, to be compiled first.
        manifest: if set, the compiled `file` is placed as an archive with this manifest.
    """

    file: str = ""  # in `runtimes/languages`: the program by which it reads the gate
    place: str = ""  # where `file` is placed
    gate: str = ".prewarm/gate"  # the FIFO, in the job directory
    run: tuple[str, ...] | None = None
    env: Mapping[str, str] = NOTHING  # variables that must not have their value yet
    opened: bool = False
    first_line: bool = False  # true if a `#!` line can hold arguments, which it reads too early
    reads_early: bool = False  # true if standard input is read from the start
    compile: tuple[str, ...] | None = None  # a compiler that waits for the source
    compiled: bool = False
    manifest: str = ""
    beside: tuple[str, ...] = ()  # more files of `runtimes/languages`, for the gate's folder
    not_with: tuple[str, ...] = ()  # with one of these variables it would read more before it waits


@dataclass(frozen=True, slots=True, eq=False)
class Toolchain:
    """A way to run a language. Templates hold `{placeholders}`; see `runtimes.program`.

    Rows compare by identity.

    Attributes:
        executables: names by role, which is the placeholder; all roles must be found, and the first
            one decides how many candidates there are.
        rank: orders toolchains of different abilities: a lower rank is chosen however slow it is,
            and speed decides only within a rank.
        beside: globs, from an executable's real folder, of a native program that an npm launcher
            wraps.
        inputs: when its products may be stored for the next run of the same source; None is never.
        caches: folders below the scratch directory that it fills as it works; another run may be
            shown them, read-only, at the same path.
    """

    name: str
    executables: Mapping[str, tuple[str, ...]]
    run: tuple[str, ...]
    compile: tuple[str, ...] | None = None
    prelude: tuple[str, ...] = ()  # put at `{prelude}` for code that is not a separate file
    bind: tuple[str, ...] = ()  # put at `{bind}` when a file is bound
    bind_env: Mapping[str, str] = field(default_factory=dict)  # joins `env` when a file is bound
    env: Mapping[str, str] = field(default_factory=dict)
    rank: int = 1
    reads: tuple[str, ...] = ()  # globs outside /usr that it needs
    beside: tuple[str, ...] = ()
    wrap: Callable[[str], ProgramText] | None = None  # overrides the language's
    source_name: str = ""  # overrides the language's
    products: tuple[str, ...] = ("program",)  # the products of compiling; the first is `{out}`
    inputs: CompileInputs | None = None
    caches: tuple[str, ...] = ()
    project_environment: bool = False  # true to look for virtual environments of the project
    prewarm: PrewarmCommand | None = None  # how to start it ahead of its program
    heavy: bool = False  # true if the kernel takes milliseconds to free its memory
    version: tuple[str, ...] = ("--version",)  # makes the first executable print it


class Driver(NamedTuple):
    """A program that serves the calls of a session with one interpreter."""

    file: str  # its name in `runtimes/languages`, with its protocol
    toolchains: tuple[str, ...]  # names of those that run it, the best one first
    rewrite: Callable[[str], str] = str  # prepares a session's program, without moving its lines
    starter: str = ""  # a program of the shell there that starts it
    env: Mapping[str, str] = NOTHING  # other variables that its interpreter needs
    is_complete: Callable[[str], bool] | None = None  # decides it of typed text; else the grammar
    # What a grammar of templates reads programs after; their last semicolon may be left out.
    tag: str = ""


class Packages(NamedTuple):
    """Packages to install for a language, by package manager: its `install.toml`."""

    debian: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    fedora: tuple[str, ...] = ()
    arch: tuple[str, ...] = ()
    brew: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()  # a winget identifier


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A row of the table: all facts about a language."""

    name: str
    title: str
    aliases: tuple[str, ...]
    extensions: tuple[str, ...]
    interpreters: tuple[str, ...]  # names that a `#!` line calls it by
    source_name: str
    grammar: str  # its name among tree-sitter grammars, for judging programs
    toolchains: tuple[Toolchain, ...]
    hello_output: str
    binding: FileBinding
    wrap: Callable[[str], ProgramText] = as_is
    files: Mapping[str, str] = field(default_factory=dict)  # placed like those of `binding`
    entry: Callable[[ProgramText], str] | None = None  # finds the entry (Java's main class)
    from_project: Callable[[Path], FromProject] = nothing_from_project
    env: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[HomeLibrary, ...] = ()
    driver: Driver | None = None  # without one a session only has files
    conversation: Driver | None = None  # for a user who types programs: shows values, survives ^C
    warm_up: str = ""  # code that, run once, fills the caches of its toolchains
    order: int = 100  # its place among the languages; then by name

    @property
    def hello(self) -> str:
        """Return the program whose output shows that a toolchain works."""
        return read_file(f"{self.name}/hello{Path(self.source_name).suffix}")

    @property
    def packages(self) -> Packages:
        """Return the packages to install for it."""
        table = read_table(f"{self.name}/install.toml")
        return Packages(*(tuple(table.get(manager, ())) for manager in Packages._fields))


class Candidate(NamedTuple):
    """A toolchain found on disk. A probe decides whether it runs.

    Attributes:
        paths: absolute, by role, in the form to invoke: a virtual environment's interpreter and a
            multi-call program must not be resolved further.
        binds: files and directories outside the system's own trees that a sandbox must show
            read-only.
        order: place in the preference: toolchains in the order of the row, then of the search path.
        compiled: by path, the compiled form of the `file` by which it waits, if that is a program.
    """

    language: Language
    toolchain: Toolchain
    paths: Mapping[str, str]
    real_paths: Mapping[str, str]  # `paths`, resolved
    binds: tuple[str, ...]
    fingerprint: Fingerprint
    project_specific: bool = False  # true if it belongs to the project
    env: Mapping[str, str] = NOTHING
    order: int = 0
    compiled: Mapping[str, bytes] = NOTHING
    packages: tuple[str, ...] = ()  # templates of arguments by which it finds given packages
    programs: tuple[str, ...] = ()  # folders of programs that the project's environments call

    @property
    def path(self) -> str:
        """Return the executable that names this candidate to a reader."""
        return next(iter(self.paths.values()))

    @property
    def path_entries(self) -> tuple[str, ...]:
        """Return directories to put on PATH so that programs find this toolchain by name."""
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
    """Things to place and to start so that an interpreter waits for one certain program's text.

    Names are in the job directory.
    """

    job_dir: str
    steps: tuple[Step, ...]
    env: Mapping[str, str]  # variables that have another value until the text comes
    files: Mapping[str, bytes]
    gate: str  # the FIFO
    only_before: tuple[str, ...]  # names that must be gone before the program starts
    reads_early: bool = False  # true if programs with input cannot use it
    not_with: tuple[str, ...] = ()  # programs with one of these variables cannot use it


class Program(NamedTuple):
    """Things to place and to start.

    Attributes:
        caches: folders below the scratch directory that the toolchain itself fills; those filled by
            the row's `warm_up` may be shown to later runs, read-only.
        prewarm: starts its interpreter before the text is known, or compiled, if that makes no
            other difference.
    """

    files: Mapping[str, bytes]  # into the job directory, which is read-only at run time
    steps: tuple[Step, ...]
    env: Mapping[str, str]
    links: Mapping[str, str] = NOTHING  # name -> target, into the job directory
    products: tuple[str, ...] = ()  # paths below scratch that compiling writes, for a cache
    caches: tuple[str, ...] = ()
    prewarm: PrewarmPlan | None = None
    compiler_prewarm: PrewarmPlan | None = None  # the same of its compiler
