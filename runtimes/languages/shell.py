"""Shell: bash if installed, else the system's sh."""

from __future__ import annotations

from runtimes.model import Driver, FileBinding, Language, Packages, PrewarmCommand, Toolchain

# A command substitution strips trailing line feeds, hence the guard character. A shell variable
# holds bytes: invalid UTF-8 stays as it is, and only NUL, which no variable can hold, is dropped.
_BIND = """\
{ FILE_CONTENT=$(cat -- "$FILE_CONTENT_PATH"; printf x); } 2>/dev/null
FILE_CONTENT=${FILE_CONTENT%x}
"""

# Sourced, so that the variable is the program's own: exported it would break every command that the
# program starts, as the kernel caps one environment string at 128 KiB.
_SOURCE_BOTH = ("-c", '. "{job}/file_content.sh"; . "$0"')

_BASH = Toolchain(
    name="bash",
    executables={"bash": ("bash",)},
    run=("{bash}", "{bind}", "{source}", "{args}"),
    bind=_SOURCE_BOTH,
    prewarm=PrewarmCommand(
        *("wait.sh", ".prewarm/wait.sh"),
        env={"BASH_ENV": "{job}/.prewarm/wait.sh"},
        not_with=("BASH_ENV",),
    ),
)

_SH = Toolchain(
    name="sh",
    executables={"sh": ("sh", "dash", "ash", "ksh", "zsh")},
    run=("{sh}", "{bind}", "{source}", "{args}"),
    bind=_SOURCE_BOTH,
    rank=2,
)

SHELL = Language(
    name="shell",
    title="Shell",
    aliases=("sh", "bash", "zsh", "dash", "shellscript"),
    extensions=(".sh", ".bash"),
    interpreters=("sh", "bash", "dash", "ash", "ksh", "zsh"),
    source_name="main.sh",
    grammar="bash",
    toolchains=(_BASH, _SH),
    hello='word=shell\necho "hello from $word"\n',
    hello_output="hello from shell\n",
    binding=FileBinding({"file_content.sh": _BIND}),
    driver=Driver("driver.sh", ("bash",)),
    conversation=Driver("driver.sh", ("bash",)),
    packages=Packages(
        debian=("bash",),
        fedora=("bash",),
        arch=("bash",),
        brew=("bash",),
        windows=("Git.Git",),
    ),
)
