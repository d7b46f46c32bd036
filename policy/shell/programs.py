"""Programs as data: which options take values, what they run, which files they touch.

To teach the policy a program, add a row to `programs.txt`. Sources: the programs' own manuals,
and for programs that can run others, the GTFOBins catalogue.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from base.wordlist import read_fields, read_rows, word_set
from policy.shell.options import parse

# From the programs' manuals. An option that is missing here is read both ways, its following
# word as its value and as the subcommand; a row settles which.

# Long options that take a value wherever they are known.
_COMMON = (
    "account address as cache-dir cluster config configuration context cwd directory endpoint-url "
    "env env-file exclude file format hostname kubeconfig log-level loglevel manifest-path "
    "namespace output profile project project-directory project-name region registry repo server "
    "stack stage subscription target-dir timeout token verbosity workdir workspace"
)
# Those of them that take shortened long options.
SHORTENS = word_set("git aws gcloud gsutil npm pip pip3 conda ansible ansible-playbook hg make")
_BY_PROGRAM = {
    name: row for names, row in read_rows(__file__, "outer_options.txt") for name in names.split()
}


# Commands that have another name, by which rules may speak of them.
_SAME: dict[str, str] = dict(read_rows(__file__, "same_commands.txt"))
_RENAMED = frozenset(name.split()[0] for name in _SAME)


def same_command(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command line by the name that rules use; empty where it has no other."""
    if words[0] not in _RENAMED:
        return ()
    parsed = parse(words, *(outer_values(words[0]) or ("", ())), permutes=False)
    start = parsed.operands[0][0] if parsed.operands else len(words)
    option = " -destroy" if "-destroy" in words else ""
    for end in (start + 2, start + 1, start):
        name = " ".join((words[0], *words[start:end]))
        if same := _SAME.get(name + option) or _SAME.get(name):
            return (*same.split(), *words[end:])
    return ()


@functools.lru_cache(maxsize=1024)
def outer_values(program: str) -> tuple[str, tuple[str, ...]] | None:
    """The letters and the long names of the options that take a value; None without a row."""
    row = _BY_PROGRAM.get(program)
    if row is None:
        return None
    names = f"{row} {_COMMON}".split()
    letters = "".join(name for name in names if len(name) == 1)
    return letters, tuple(name for name in names if len(name) > 1)


SHELLS = word_set("sh bash zsh dash ksh")


INTERPRETERS = read_fields(__file__, "interpreters.txt", dict)

# Programs of frameworks: the language of their console, and what comes before code for it.
CONSOLES = {
    "rails": ("ruby", "runner", "r"), "artisan": ("php", "--execute"), "wp": ("php", "eval"),
    "manage.py": ("python", "-c", "--command"), "drush": ("php", "php:eval", "ev", "eval"),
    "mix": ("elixir", "-e", "--eval"), "iex": ("elixir", "-e", "--eval"),
}  # fmt: skip

# Those whose names may carry a version, and the row of each.
_VERSIONED = {"pypy": "python", "ipython": "python", "nodejs": "node", "zx": "node"} | {
    name: name for name in ("python", "ruby", "perl", "php", "lua", "node")
}


@functools.lru_cache(maxsize=1024)
def interpreter(name: str) -> dict[str, str] | None:
    """The row of the interpreter that a name stands for, whatever version it carries."""
    family = _VERSIONED.get(name.rstrip("0123456789."), name)
    return INTERPRETERS.get(family)


class CliRow(NamedTuple):
    """A program's row: what the walker needs to know of it.

    `reads` and `writes` are all, first, last, rest (all but the first), heads (all but the last),
    or, for searchers, after-pattern.
    """

    short: str = ""  # options of one letter that take a value
    long: str = ""  # long options that take a value
    runs: str = ""  # what its operands start: a key of `policy.shell.run.RUNNERS`
    skip: int = 0  # how many leading operands `runs` passes over
    runs_options: str = ""  # options whose value is a command line
    reads: str = ""  # which operands are files that are read
    writes: str = ""  # which operands are files that are written
    reads_options: str = ""  # options whose value is a file that is read
    writes_options: str = ""  # options whose value is a file that is written
    lists: str = ""  # options that name a file with names of files that are read
    at_options: str = ""  # options that name a file when their value has an `@`
    pattern_options: str = ""  # options that give a searcher its pattern, so that no operand does
    long_with_one_dash: bool = False  # whether `-name` is one option
    files_known: bool = True  # if not, its operands are taken for files


def _row(given: dict[str, str]) -> CliRow:
    types: dict[str, Callable[[str], Any]] = {"skip": int}
    types |= dict.fromkeys(("long_with_one_dash", "files_known"), "yes".__eq__)
    return CliRow(**{name: types.get(name, str)(value) for name, value in given.items()})


PROGRAMS = read_fields(__file__, "programs.txt", _row)

UNKNOWN_PROGRAM = CliRow(runs="guess", files_known=False)

# Wrappers whose name may stand for `command -v name` and the like: asking, not running.
QUERY_OPTIONS = {"command": frozenset("vV"), "hash": frozenset("lrdt"), "sudo": frozenset("lvkKV")}

# Variables whose value a program run later takes for a command line.
COMMAND_VARIABLES = word_set(
    """PAGER MANPAGER GIT_PAGER GH_PAGER SYSTEMD_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER
    EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR FCEDIT HGEDITOR SVN_EDITOR
    KUBE_EDITOR BROWSER GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS
    SUDO_ASKPASS GIT_PROXY_COMMAND RSYNC_RSH CVS_RSH SVN_SSH BORG_RSH LESSOPEN LESSCLOSE
    PROMPT_COMMAND FZF_DEFAULT_COMMAND
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER TERMINAL
    AWS_PAGER LESSEDIT TEXEDIT MERGE_TOOL DIFFPROG CCACHE_PREFIX
    CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
    CC CXX CPP LD AR AS RANLIB STRIP HOSTCC RUSTC RUSTDOC
    PERL5DB PYTHONBREAKPOINT """
)

# Variables that name a file the shell reads commands from, and those it expands as a prompt.
STARTUP_VARIABLES = word_set("BASH_ENV ENV")
PROMPT_VARIABLES = word_set("PS0 PS1 PS2 PS4")

# Consumers at the end of a pipe that show nothing of what they are given.
SILENT_SINKS = word_set(
    "tar bsdtar gpg sponge dd docker podman apt-key cpio unzip patch wc md5sum sha1sum sha256sum "
    "sha512sum shasum cksum sh bash dash zsh ksh git kubectl psql mysql sqlite3 xclip pbcopy"
)
