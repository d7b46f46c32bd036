"""TypeScript: bun, deno, node, and the loaders on top of node."""

from __future__ import annotations

from dataclasses import replace

from runtimes.languages.javascript.row import (
    BINDING,
    BUN,
    DENO,
    NODE,
    NODE_BIND,
    NODE_PATH,
    NODE_PRELUDE,
    NODE_PREWARM,
    NODE_READS,
    PRELUDE,
    link_node_modules,
)
from runtimes.model import Language, Toolchain

# From 22.7 on node compiles enums and namespaces too, with a flag. An older node refuses the flag,
# and the probe reports it.
_NODE_TRANSFORM_TYPES = Toolchain(
    name="node-transform-types",
    executables=NODE.executables,
    run=(
        *("{node}", "--experimental-transform-types", "--disable-warning=ExperimentalWarning"),
        *("{prelude}", "{bind}", "{source}", "{args}"),
    ),
    prelude=NODE_PRELUDE,
    bind=NODE_BIND,
    env=NODE_PATH,
    reads=NODE_READS,
    prewarm=NODE_PREWARM,
    heavy=True,
)

# Loaders that only strip types refuse enums.
_NODE_STRIP_TYPES = replace(NODE, name="node-strip-types", rank=2, wrap=None)

# The loader inside node, rather than the `tsx` command, saves a second node process. A file named
# .mts is an ES module, where top-level await works.
_TSX = Toolchain(
    name="tsx",
    executables={"tsx": ("tsx",), "node": ("node", "nodejs")},
    run=(
        *("{node}", "--import", "{tsx.folder}/loader.mjs"),
        *("{prelude}", "{bind}", "{source}", "{args}"),
    ),
    prelude=NODE_PRELUDE,
    bind=NODE_BIND,
    source_name="main.mts",
    env={**NODE_PATH, "TSX_DISABLE_CACHE": "1"},
    reads=NODE_READS,
    prewarm=NODE_PREWARM,
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
        **NODE_PATH,
        "TS_NODE_SKIP_PROJECT": "1",
        "TS_NODE_COMPILER_OPTIONS": (
            '{"module":"commonjs","target":"es2022","esModuleInterop":true}'
        ),
    },
    reads=NODE_READS,
    rank=2,
    heavy=True,
)

ROW = Language(
    name="typescript",
    title="TypeScript",
    aliases=("ts",),
    extensions=(".ts", ".mts", ".cts", ".tsx"),
    interpreters=("tsx", "ts-node"),
    source_name="main.ts",
    grammar="typescript",
    order=2,
    toolchains=(BUN, DENO, _NODE_TRANSFORM_TYPES, _NODE_STRIP_TYPES, _TSX, _TS_NODE),
    files=PRELUDE,
    hello_output="hello from typescript\n",
    binding=BINDING,
    from_project=link_node_modules,
)
