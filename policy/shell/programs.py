"""Programs as data: which options take values, what they run, which files they touch.

To teach the policy a program, add a row to `programs.txt`. Sources: the programs' own manuals,
and for programs that can run others, the GTFOBins catalogue.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from policy.wordlist import read_rows, word_set


class CliRow(NamedTuple):
    """What the walker needs to know of one program.

    `short` and `long` name the options that take a value. `runs` says what its operands start (a
    key of `policy.shell.run.RUNNERS`) after `skip` leading operands. The value of a `runs_options`
    option is a command line. `reads` and `writes` say which operands are files: all, first, last,
    rest (all but the first), heads (all but the last), or, for searchers, after-pattern.
    `at_options` name a file when their value has an `@`; files that `lists` options name hold names
    of files that are read. A program whose `files_known` is false has its operands taken for files.
    """

    short: str = ""
    long: str = ""
    runs: str = ""
    skip: int = 0
    runs_options: str = ""
    reads: str = ""
    writes: str = ""
    reads_options: str = ""
    writes_options: str = ""
    lists: str = ""
    at_options: str = ""
    pattern_options: str = ""
    long_with_one_dash: bool = False
    files_known: bool = True


def _row(fields: Iterable[str]) -> CliRow:
    given = dict(field.split(" ", 1) for field in fields)
    types: dict[str, Callable[[str], Any]] = {"skip": int}
    types |= dict.fromkeys(("long_with_one_dash", "files_known"), "yes".__eq__)
    return CliRow(**{name: types.get(name, str)(value) for name, value in given.items()})


PROGRAMS = {
    name: _row(fields)
    for names, *fields in read_rows(__file__, "programs.txt")
    for name in names.split()
}

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
