"""Lua's packages: locks of a project, and what of a rock is refused or has no network."""

from __future__ import annotations

import pytest

from executor import PackagesError
from executor.packages import model
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.script_registries import ROCKSPEC, Rocks

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

VALUE = "return 42\n"
USE = 'print((require("alpha")))'


def opened(open_with, served):
    given = model.Registry(served.url, private=True)
    return open_with(allow=frozenset({"lua"}), registries={"lua": given}, layer_bytes=64 << 20)


async def test_a_lock_of_the_project_is_taken_as_it_is(open_with, served, project):
    registry = Rocks(served)
    registry.add("alpha", VALUE, requires="beta")  # which the lock leaves out
    (project / "luarocks.lock").write_text('return { dependencies = { alpha = "1.0-1" } }\n')
    async with opened(open_with, served) as engine:
        result = await run_in(engine, "lua", USE, "luarocks.lock")
        assert result.stdout.text == "42\n", result.stderr.text
        (project / "luarocks.lock").write_text('return { dependencies = { alpha = "2.0-1" } }\n')
        with pytest.raises(PackagesError, match="no versions fit"):
            await run_in(engine, "lua", USE, "luarocks.lock")


async def test_a_rock_is_built_without_network(open_with, served):
    served.files["/there"] = ("text/plain", b"there")
    ask = f"wget -q -O /dev/null {served.url}/there || curl -f {served.url}/there"
    build = (
        f'type = "command", build_command = "if {ask}; then echo return 1; else echo return 0; fi'
        ' > alpha.lua", install = { lua = { alpha = "alpha.lua" } }'
    )
    Rocks(served).add("alpha", VALUE, build=build)
    async with opened(open_with, served) as engine:
        result = await run_in(engine, "lua", USE, "alpha")
    assert (result.stdout.text, served.count("/there")) == ("0\n", 0), result.stderr.text


def broken(spec: str = ROCKSPEC, **given: object) -> dict[str, object]:
    return {"spec": spec, **given}


REFUSED = {
    "calling": (broken(ROCKSPEC + 'os.execute("true")\n'), "more than give data"),
    "requiring": (broken('x = require("os")\n' + ROCKSPEC), "more than give data"),
    "compiled": (broken("\x1bLua" + ROCKSPEC), "more than give data"),
    "endless": (broken(ROCKSPEC + "while true do end\n"), "more than give data"),
    "of another": (broken(ROCKSPEC.replace("{name}", "beta")), "more than give data"),
    "old": (broken(ROCKSPEC.replace("lua >= 5.1", "lua < 5")), "no versions fit"),
    "lacking": (broken(requires="beta"), "no such rock"),
    "leading out": (broken(files={"../../a": "a"}), "leads out of its folder"),
    "absolute": (broken(files={"/etc/a": "a"}), "leads out of its folder"),
    "failing": (broken(build='type = "command", build_command = "false"'), "was not built"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_bad_rocks_are_refused_in_words_and_leave_nothing(open_with, served, kept, case):
    given, reason = REFUSED[case]
    Rocks(served).add("alpha", VALUE, **given)
    async with opened(open_with, served) as engine:
        with pytest.raises(PackagesError, match=reason):
            await run_in(engine, "lua", USE, "alpha")
    assert left(kept) == []
