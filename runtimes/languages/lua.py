"""Lua."""

from __future__ import annotations

from runtimes.model import Driver, FileBinding, Language, Packages, PrewarmCommand, Toolchain

# utf8.len names the first invalid byte. Lua 5.1 and LuaJIT have no utf8.
_BIND = r"""
FILE_CONTENT_PATH = os.getenv("FILE_CONTENT_PATH")
do
  local forms = {
    "^[%z\1-\127]+()", "^[\194-\223][\128-\191]()", "^\224[\160-\191][\128-\191]()",
    "^[\225-\236\238\239][\128-\191][\128-\191]()", "^\237[\128-\159][\128-\191]()",
    "^\240[\144-\191][\128-\191][\128-\191]()",
    "^[\241-\243][\128-\191][\128-\191][\128-\191]()",
    "^\244[\128-\143][\128-\191][\128-\191]()",
  }
  local function find_invalid(text, at)
    if utf8 then
      local _, invalid = utf8.len(text, at)
      return invalid
    end
    while at <= #text do
      local after
      for _, form in ipairs(forms) do
        after = after or text:match(form, at)
      end
      if not after then return at end
      at = after
    end
  end
  local file = assert(io.open(FILE_CONTENT_PATH, "rb"))
  local content = file:read("*a")
  file:close()
  local invalid = find_invalid(content, 1)
  if invalid then
    local parts, from = {}, 1
    while invalid do
      parts[#parts + 1] = content:sub(from, invalid - 1)
      parts[#parts + 1] = "\239\191\189"
      from = invalid + 1
      invalid = find_invalid(content, from)
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
    # Debian's `lua` is 5.1 as soon as luarocks is installed.
    executables={"lua": ("lua5.4", "lua5.3", "lua")},
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
