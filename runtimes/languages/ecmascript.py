"""JavaScript and TypeScript: bun, deno, node, and the TypeScript loaders on top of node."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from runtimes.languages import read_binding
from runtimes.model import (
    Driver,
    FileBinding,
    FromProject,
    Language,
    Packages,
    PrewarmCommand,
    ProgramText,
    Toolchain,
)
from runtimes.toplevel import JAVASCRIPT as JAVASCRIPT_TEXT
from runtimes.toplevel import blank, globalize, globalize_and_show, surface

# ES modules get a `require`, as CommonJS has one; it resolves from the working directory.
_PRELUDE = """\
import { createRequire } from "node:module";
globalThis.require ??= createRequire(`${process.cwd()}/`);
"""

_BIND = read_binding("ecmascript.mjs")

_BIND_COMMONJS = read_binding("commonjs.cjs")

_PRELUDE_FILES = {"prelude.mjs": _PRELUDE}
_BINDING = FileBinding({"file_content.mjs": _BIND, "file_content.cjs": _BIND_COMMONJS})
_NODE_PATH = {"NODE_PATH": "{cwd}/node_modules"}
_NODE_PRELUDE = ("--import", "{job}/prelude.mjs")
_NODE_BIND = ("--import", "{job}/file_content.mjs")
_NODE_READS = ("/etc/ssl/openssl.cnf",)
# Modules imported before the program; even before that its name is looked at.
_NODE_PREWARM = PrewarmCommand("wait.mjs", "prelude.mjs", opened=True, not_with=("NODE_OPTIONS",))


def _link_node_modules(cwd: Path) -> FromProject:
    """Link the nearest `node_modules` at or above the working directory next to the program, as
    packages resolve from the program's own folder upwards."""
    for folder in (cwd, *cwd.parents):
        modules = folder / "node_modules"
        if modules.is_dir():
            return (), {"node_modules": str(modules)}
    return (), {}


_BUN = Toolchain(
    name="bun",
    executables={"bun": ("bun",)},
    run=("{bun}", "--no-install", "{bind}", "{source}", "{args}"),
    bind=("--preload", "{job}/file_content.mjs"),
    env={**_NODE_PATH, "DO_NOT_TRACK": "1", "BUN_INSTALL_CACHE_DIR": "{scratch}/.bun"},
    beside=("bun", "../../@oven/bun-linux-*/bin/bun", "../node_modules/@oven/bun-linux-*/bin/bun"),
)

_DENO = Toolchain(
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


_NODE = Toolchain(
    name="node",
    executables={"node": ("node", "nodejs")},
    run=("{node}", "{prelude}", "{bind}", "{source}", "{args}"),
    prelude=_NODE_PRELUDE,
    bind=_NODE_BIND,
    env=_NODE_PATH,
    reads=_NODE_READS,
    prewarm=_NODE_PREWARM,
    wrap=_module_or_script,
    heavy=True,
)

# From 22.7 on node compiles enums and namespaces too, with a flag. An older node refuses the flag,
# and the probe reports it.
_NODE_TRANSFORM_TYPES = Toolchain(
    name="node-transform-types",
    executables=_NODE.executables,
    run=(
        *("{node}", "--experimental-transform-types", "--disable-warning=ExperimentalWarning"),
        *("{prelude}", "{bind}", "{source}", "{args}"),
    ),
    prelude=_NODE_PRELUDE,
    bind=_NODE_BIND,
    env=_NODE_PATH,
    reads=_NODE_READS,
    prewarm=_NODE_PREWARM,
    heavy=True,
)

# Loaders that only strip types refuse enums.
_NODE_STRIP_TYPES = replace(_NODE, name="node-strip-types", rank=2, wrap=None)

# The loader inside node, rather than the `tsx` command, saves a second node process. A file named
# .mts is an ES module, where top-level await works.
_TSX = Toolchain(
    name="tsx",
    executables={"tsx": ("tsx",), "node": ("node", "nodejs")},
    run=(
        *("{node}", "--import", "{tsx.folder}/loader.mjs"),
        *("{prelude}", "{bind}", "{source}", "{args}"),
    ),
    prelude=_NODE_PRELUDE,
    bind=_NODE_BIND,
    source_name="main.mts",
    env={**_NODE_PATH, "TSX_DISABLE_CACHE": "1"},
    reads=_NODE_READS,
    prewarm=_NODE_PREWARM,
    heavy=True,
)

# Its hook sees CommonJS only, so nothing may be preloaded as an ES module.
_TS_NODE = Toolchain(
    name="ts-node",
    executables={"ts_node": ("ts-node",), "node": ("node", "nodejs")},
    run=(
        *("{node}", "--require", "{ts_node.folder}/../register/transpile-only.js"),
        *("{bind}", "{source}", "{args}"),
    ),
    bind=("--require", "{job}/file_content.cjs"),
    env={
        **_NODE_PATH,
        "TS_NODE_SKIP_PROJECT": "1",
        "TS_NODE_COMPILER_OPTIONS": (
            '{"module":"commonjs","target":"es2022","esModuleInterop":true}'
        ),
    },
    reads=_NODE_READS,
    rank=2,
    heavy=True,
)

JAVASCRIPT = Language(
    name="javascript",
    title="JavaScript",
    aliases=("js", "node", "nodejs", "ecmascript"),
    extensions=(".js", ".mjs", ".cjs", ".jsx"),
    interpreters=("node", "nodejs", "bun", "deno"),
    source_name="main.js",
    grammar="javascript",
    toolchains=(_BUN, _DENO, _NODE),
    files=_PRELUDE_FILES,
    hello='console.log(["hello", "from", "javascript"].join(" "));\n',
    hello_output="hello from javascript\n",
    binding=_BINDING,
    from_project=_link_node_modules,
    driver=Driver("driver.js", ("bun", "deno", "node"), globalize),
    # Node's computations can be interrupted.
    conversation=Driver("driver.js", ("node", "bun", "deno"), globalize_and_show),
    packages=Packages(
        debian=("nodejs", "npm"),
        npm=("bun", "deno"),
        fedora=("nodejs",),
        arch=("nodejs",),
        brew=("node",),
        windows=("OpenJS.NodeJS",),
    ),
)

TYPESCRIPT = Language(
    name="typescript",
    title="TypeScript",
    aliases=("ts",),
    extensions=(".ts", ".mts", ".cts", ".tsx"),
    interpreters=("tsx", "ts-node"),
    source_name="main.ts",
    grammar="typescript",
    toolchains=(_BUN, _DENO, _NODE_TRANSFORM_TYPES, _NODE_STRIP_TYPES, _TSX, _TS_NODE),
    files=_PRELUDE_FILES,
    hello=(
        'const words: ReadonlyArray<string> = ["hello", "from", "typescript"];\n'
        'console.log(words.join(" "));\n'
    ),
    hello_output="hello from typescript\n",
    binding=_BINDING,
    from_project=_link_node_modules,
    packages=Packages(
        debian=("nodejs", "npm"),
        npm=("bun", "deno", "tsx"),
        fedora=("nodejs",),
        arch=("nodejs",),
        brew=("deno",),
        windows=("DenoLand.Deno",),
    ),
)
