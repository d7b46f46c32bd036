"""R, through Rscript."""

from __future__ import annotations

from runtimes.model import (
    Driver,
    FileBinding,
    HomeLibrary,
    Language,
    PrewarmCommand,
    Toolchain,
)

_PAGES = ("enabled", "hpage_pmd_size")

_RSCRIPT = Toolchain(
    name="rscript",
    executables={"rscript": ("Rscript",)},
    run=(
        *("{rscript}", "--no-save", "--no-restore", "--no-site-file", "--no-environ"),
        *("{source}", "{args}"),
    ),
    # An empty profile instead of the project's, which may need the network.
    env={"R_PROFILE_USER": "/dev/null"},
    bind_env={"R_PROFILE_USER": "{job}/file_content.R"},
    # malloc looks there whether it may ask for large pages.
    reads=("/etc/R", *(f"/sys/kernel/mm/transparent_hugepage/{f}" for f in _PAGES)),
    # A heap of few large pages is gone from the kernel in half the time when the process ends.
    prewarm=PrewarmCommand(
        "r/wait.R",
        ".prewarm/wait.R",
        env={
            "R_PROFILE_USER": "{job}/.prewarm/wait.R",
            "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        },
        opened=True,
        not_with=("GLIBC_TUNABLES",),
    ),
    heavy=True,
)

ROW = Language(
    name="r",
    title="R",
    aliases=("rscript", "rlang"),
    extensions=(".r", ".R"),
    interpreters=("Rscript",),
    source_name="main.R",
    grammar="r",
    order=10,
    toolchains=(_RSCRIPT,),
    hello_output="hello from r\n",
    # R reads this as the user's profile, before the program and into its workspace. R strings
    # cannot hold NUL, which is dropped.
    binding=FileBinding({"file_content.R": "r/bind.R"}),
    libraries=(HomeLibrary("R/*-library/*", "R_LIBS_USER"),),
    driver=Driver("r/driver.R", ("rscript",)),
    conversation=Driver("r/driver.R", ("rscript",)),
)
