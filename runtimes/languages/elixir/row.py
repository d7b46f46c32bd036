"""Elixir, with a Mix project's compiled applications on its code path."""

from __future__ import annotations

from pathlib import Path

from runtimes.model import (
    Driver,
    FileBinding,
    FromProject,
    Language,
    PrewarmCommand,
    Toolchain,
)


def mix_code_paths(cwd: Path) -> FromProject:
    """List the `ebin` folders of the nearest Mix project's last build, development first."""
    for folder in (cwd, *cwd.parents):
        if not (folder / "mix.exs").is_file():
            continue
        for build in ("dev", "prod", "test"):
            found = sorted((folder / "_build" / build / "lib").glob("*/ebin"))
            if found:
                return tuple(a for ebin in found for a in ("-pa", str(ebin))), {}
        break
    return (), {}


_ELIXIR = Toolchain(
    name="elixir",
    version=("--short-version",),
    executables={"elixir": ("elixir",), "erl": ("erl",)},
    run=("{elixir}", "{project}", "{bind}", "{source}", "{args}"),
    bind=("{job}/file_content.exs",),
    prewarm=PrewarmCommand(
        "elixir/wait.exs",
        ".prewarm/wait.exs",
        run=(
            "{elixir}",
            "-r",
            "{job}/.prewarm/wait.exs",
            "{project}",
            "{bind}",
            "{source}",
            "{args}",
        ),
        reads_early=True,
        not_with=("ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ERL_LIBS"),
    ),
    heavy=True,
)

ROW = Language(
    name="elixir",
    title="Elixir",
    aliases=("ex", "exs"),
    extensions=(".exs", ".ex"),
    interpreters=("elixir",),
    source_name="main.exs",
    grammar="elixir",
    order=11,
    toolchains=(_ELIXIR,),
    hello_output="hello from elixir\n",
    # Elixir has no global variables: the names are put before the program's first line and the
    # whole is compiled under the program's own name, so that lines and __DIR__ stay true.
    binding=FileBinding({"file_content.exs": "elixir/bind.exs"}),
    from_project=mix_code_paths,
    env={
        # File names and standard streams are UTF-8; other names are not reported on stdout.
        "ELIXIR_ERL_OPTIONS": "+fnui",
        "MIX_HOME": "{scratch}/.mix",
        "HEX_HOME": "{scratch}/.hex",
    },
    conversation=Driver(
        "elixir/driver.exs",
        ("elixir",),
        starter="elixir/interrupt.sh",
        env={"ELIXIR_ERL_OPTIONS": "+fnui +Bi"},  # the machine leaves SIGINT alone
    ),
)
