"""Shell: bash if installed, else the system's sh."""

from __future__ import annotations

from runtimes.model import Driver, FileBinding, Language, PrewarmCommand, Toolchain

# Sourced, so that the variable is the program's own: exported it would break every command that the
# program starts, as the kernel caps one environment string at 128 KiB.
_SOURCE_BOTH = ("-c", '. "{job}/file_content.sh"; . "$0"')

_BASH = Toolchain(
    name="bash",
    executables={"bash": ("bash",)},
    run=("{bash}", "{bind}", "{source}", "{args}"),
    bind=_SOURCE_BOTH,
    prewarm=PrewarmCommand(
        *("shell/wait.sh", ".prewarm/wait.sh"),
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

ROW = Language(
    name="shell",
    title="Shell",
    aliases=("sh", "bash", "zsh", "dash", "shellscript"),
    extensions=(".sh", ".bash"),
    interpreters=("sh", "bash", "dash", "ash", "ksh", "zsh"),
    source_name="main.sh",
    grammar="bash",
    order=4,
    toolchains=(_BASH, _SH),
    hello_output="hello from shell\n",
    # A command substitution strips trailing line feeds, hence the guard character. A shell variable
    # holds bytes: invalid UTF-8 stays as it is, and only NUL, which no variable can hold, is
    # dropped.
    binding=FileBinding({"file_content.sh": "shell/bind.sh"}),
    driver=Driver("shell/driver.sh", ("bash",)),
    conversation=Driver("shell/driver.sh", ("bash",)),
)
