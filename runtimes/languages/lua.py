"""Lua."""

from __future__ import annotations

from runtimes.model import Driver, FileBinding, Language, Packages, PrewarmCommand, Toolchain

# utf8.len names the first invalid byte; Lua before 5.3 has no utf8 and keeps the bytes.
_BIND = """\
FILE_CONTENT_PATH = os.getenv("FILE_CONTENT_PATH")
do
  local file = assert(io.open(FILE_CONTENT_PATH, "rb"))
  local content = file:read("*a")
  file:close()
  if utf8 and not utf8.len(content) then
    local parts, from = {}, 1
    while true do
      local length, invalid = utf8.len(content, from)
      if length then break end
      parts[#parts + 1] = content:sub(from, invalid - 1)
      parts[#parts + 1] = "\\u{FFFD}"
      from = invalid + 1
    end
    parts[#parts + 1] = content:sub(from)
    content = table.concat(parts)
  end
  FILE_CONTENT = content
end
"""

_RUN = ("{lua}", "{bind}", "{source}", "{args}")
_DOFILE = ("-e", 'dofile("{job}/file_content.lua")')

_LUA = Toolchain(
    name="lua",
    version=("-v",),
    executables={"lua": ("lua", "lua5.4", "lua5.3")},
    run=_RUN,
    bind=_DOFILE,
    prewarm=PrewarmCommand(
        "wait.lua",
        ".prewarm/wait.lua",
        run=("{lua}", "-e", 'dofile("{job}/.prewarm/wait.lua")', "{bind}", "{source}", "{args}"),
        not_with=("LUA_INIT", "LUA_INIT_5_4", "LUA_INIT_5_3"),
    ),
)

# LuaJIT speaks Lua 5.1.
_LUAJIT = Toolchain(
    name="luajit",
    version=("-v",),
    executables={"lua": ("luajit", "lua5.1")},
    run=_RUN,
    bind=_DOFILE,
    rank=2,
)

LUA = Language(
    name="lua",
    title="Lua",
    aliases=("lua5.4",),
    extensions=(".lua",),
    interpreters=("lua", "luajit"),
    source_name="main.lua",
    grammar="lua",
    toolchains=(_LUA, _LUAJIT),
    hello='local word = "lua"\nprint("hello from " .. word)\n',
    hello_output="hello from lua\n",
    binding=FileBinding({"file_content.lua": _BIND}),
    # The closing ;; keeps the default path.
    env={"LUA_PATH": "{cwd}/?.lua;{cwd}/?/init.lua;;"},
    conversation=Driver("driver.lua", ("lua", "luajit")),
    packages=Packages(
        debian=("lua5.4",),
        fedora=("lua",),
        arch=("lua",),
        brew=("lua",),
        windows=("DEVCOM.Lua",),
    ),
)
