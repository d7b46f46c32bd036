"""Lua."""

from __future__ import annotations

from runtimes.model import Driver, FileBinding, Language, PrewarmCommand, Toolchain

_RUN = ("{lua}", "{bind}", "{source}", "{args}")
_DOFILE = ("-e", 'dofile("{job}/file_content.lua")')

_LUA = Toolchain(
    name="lua",
    version=("-v",),
    # Debian's `lua` is 5.1 as soon as luarocks is installed.
    executables={"lua": ("lua5.4", "lua5.3", "lua")},
    run=_RUN,
    bind=_DOFILE,
    prewarm=PrewarmCommand(
        "lua/wait.lua",
        ".prewarm/wait.lua",
        run=("{lua}", "-e", 'dofile("{job}/.prewarm/wait.lua")', "{bind}", "{source}", "{args}"),
        not_with=("LUA_INIT", "LUA_INIT_5_4", "LUA_INIT_5_3"),
    ),
)

# LuaJIT is Lua 5.1.
_LUAJIT = Toolchain(
    name="luajit",
    version=("-v",),
    executables={"lua": ("luajit", "lua5.1")},
    run=_RUN,
    bind=_DOFILE,
    rank=2,
)

ROW = Language(
    name="lua",
    title="Lua",
    aliases=("lua5.4",),
    extensions=(".lua",),
    interpreters=("lua", "luajit"),
    source_name="main.lua",
    grammar="lua",
    order=16,
    toolchains=(_LUA, _LUAJIT),
    hello_output="hello from lua\n",
    # utf8.len names the first invalid byte. Lua 5.1 and LuaJIT have no utf8.
    binding=FileBinding({"file_content.lua": "lua/bind.lua"}),
    # The closing ;; keeps the default path.
    env={"LUA_PATH": "{cwd}/?.lua;{cwd}/?/init.lua;;"},
    conversation=Driver("lua/driver.lua", ("lua", "luajit")),
)
