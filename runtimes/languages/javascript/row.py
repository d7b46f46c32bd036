"""JavaScript: bun, deno and node."""

from __future__ import annotations

import re
from pathlib import Path

from runtimes.languages.javascript.global_names import globalize, globalize_and_show
from runtimes.model import (
    Driver,
    FileBinding,
    FromProject,
    Language,
    PrewarmCommand,
    ProgramText,
    Toolchain,
)
from runtimes.toplevel import JAVASCRIPT as JAVASCRIPT_TEXT
from runtimes.toplevel import blank, surface

# ES modules get a `require`, as CommonJS has one; it resolves from the working directory.
PRELUDE = {"prelude.mjs": "javascript/prelude.mjs"}
BINDING = FileBinding(
    {"file_content.mjs": "javascript/bind.mjs", "file_content.cjs": "javascript/bind.cjs"}
)
NODE_PATH = {"NODE_PATH": "{cwd}/node_modules"}
NODE_PRELUDE = ("--import", "{job}/prelude.mjs")
NODE_BIND = ("--import", "{job}/file_content.mjs")
NODE_READS = ("/etc/ssl/openssl.cnf",)
# Modules imported before the program; even before that its name is looked at.
NODE_PREWARM = PrewarmCommand(
    "javascript/wait.mjs", "prelude.mjs", opened=True, not_with=("NODE_OPTIONS",)
)


def link_node_modules(cwd: Path) -> FromProject:
    """Link the nearest `node_modules` at or above the working directory next to the program, as
    packages resolve from the program's own folder upwards."""
    for folder in (cwd, *cwd.parents):
        modules = folder / "node_modules"
        if modules.is_dir():
            return (), {"node_modules": str(modules)}
    return (), {}


BUN = Toolchain(
    name="bun",
    executables={"bun": ("bun",)},
    run=("{bun}", "--no-install", "{bind}", "{source}", "{args}"),
    bind=("--preload", "{job}/file_content.mjs"),
    env={**NODE_PATH, "DO_NOT_TRACK": "1", "BUN_INSTALL_CACHE_DIR": "{scratch}/.bun"},
    beside=("bun", "../../@oven/bun-linux-*/bin/bun", "../node_modules/@oven/bun-linux-*/bin/bun"),
)

DENO = Toolchain(
    name="deno",
    executables={"deno": ("deno",)},
    run=(
        *("{deno}", "run", "--allow-all", "--quiet", "--no-lock", "--node-modules-dir=manual"),
        *("{prelude}", "{bind}", "{source}", "{args}"),
    ),
    prelude=("--preload", "{job}/prelude.mjs"),
    bind=("--preload", "{job}/file_content.mjs"),
    env={"DENO_DIR": "{scratch}/.deno", "DENO_NO_UPDATE_CHECK": "1", "DENO_NO_PROMPT": "1"},
    beside=("deno", "../@deno/linux-*/deno", "node_modules/@deno/linux-*/deno"),
)

# Outside of blocks only an ES module has these. `import(…)` is a call.
_MODULE_SYNTAX = re.compile(r"^[ \t]*(?:import\b(?!\s*\()|export\b)|\bawait\b", re.MULTILINE)


def _module_or_script(code: str) -> ProgramText:
    """Return the code under a name that shows node which of the two it is."""
    outside_of_blocks = surface(blank(code, JAVASCRIPT_TEXT))
    return ProgramText(code, "main.mjs" if _MODULE_SYNTAX.search(outside_of_blocks) else "main.js")


NODE = Toolchain(
    name="node",
    executables={"node": ("node", "nodejs")},
    run=("{node}", "{prelude}", "{bind}", "{source}", "{args}"),
    prelude=NODE_PRELUDE,
    bind=NODE_BIND,
    env=NODE_PATH,
    reads=NODE_READS,
    prewarm=NODE_PREWARM,
    wrap=_module_or_script,
    heavy=True,
)

ROW = Language(
    name="javascript",
    title="JavaScript",
    aliases=("js", "node", "nodejs", "ecmascript"),
    extensions=(".js", ".mjs", ".cjs", ".jsx"),
    interpreters=("node", "nodejs", "bun", "deno"),
    source_name="main.js",
    grammar="javascript",
    order=1,
    toolchains=(BUN, DENO, NODE),
    files=PRELUDE,
    hello_output="hello from javascript\n",
    binding=BINDING,
    from_project=link_node_modules,
    driver=Driver("javascript/driver.js", ("bun", "deno", "node"), globalize),
    # Node's computations can be interrupted.
    conversation=Driver("javascript/driver.js", ("node", "bun", "deno"), globalize_and_show),
)
