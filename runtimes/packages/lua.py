"""Lua: rocks of a registry that has no digests, so that those of the first download are pinned.

Indexes and rockspecs are Lua. The lock reads them by LuaRocks' own loader, as text, in an empty
environment: no function but the methods of strings can be called there, and not without end.
What they build is built without network.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import GET, LUAROCKS, Ecosystem

# LuaRocks is one for all versions of Lua, and may lie on the path of another than this.
_SET_UP = read_program("lua_set_up.sh")

_LOCK = _SET_UP + GET + read_program("lua_lock.sh")

_FETCH = GET + read_program("lua_fetch.sh")

_BUILD = _SET_UP + read_program("lua_build.sh")

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}"
_VERSION = r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}"
_RANGE = rf"(?:~>|>=|<=|==|~=|[<>])\s*{_VERSION}"

LUA = Ecosystem(
    name="lua",
    title="Lua",
    languages=("lua",),
    registry="https://luarocks.org",
    hosts=(),
    spec=rf"{_NAME}(?:\s+{_VERSION}|\s*{_RANGE}(?:\s*,\s*{_RANGE}){{0,3}})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/lua",
    env={
        "LUA_PATH": "/packages/lua/lua/?.lua;/packages/lua/lua/?/init.lua",
        "LUA_CPATH": "/packages/lua/c/?.so;;",
    },
    lock_name="rocks.lock",
    lock_files=(("rocks.lock",),),
    wanted_files=("luarocks.lock",),
    tools=(LUAROCKS,),
    missing=r"module '([\w-]+)(?:\.[\w.-]*)?' not found",
    published={
        "cjson": "lua-cjson",
        "lfs": "luafilesystem",
        "mime": "luasocket",
        "posix": "luaposix",
        "socket": "luasocket",
        "ssl": "luasec",
        "yaml": "lyaml",
    },
    complaints=(
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"holds no digest", "there is no digest of it"),
        (r"no such rock", "there is no such rock"),
        (r"no fitting version", "no versions fit together, or with this Lua"),
        (r"leads out of", "an archive holds a name that leads out of its folder"),
        (
            r"of data alone|not an index|than data",
            "a rockspec or an index does more than give data",
        ),
        (r"has no index|error: 404|ERROR 404", "there is no such rock, or no registry of rocks"),
        (r"End-of-central-directory|zipfile", "an archive is damaged"),
        (r"headers are missing", "it is compiled with Lua's headers, which are missing"),
        (r"Build error|Failed (?:compiling|building|unpacking)", "it was not built"),
    ),
    cooldown=False,
    pinned_here=True,
)
