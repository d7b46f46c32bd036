"""The sandbox stops attacks, not programs: every language compiles, imports and runs threads in it.

That each runs its hello is tests/executor/test_languages.py's.
"""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

import pytest

import runtimes
from executor import Limits, Status
from tests.escapes.arena import Arena
from tests.escapes.attack import Program
from tests.needs import need
from tests.samples import read_samples

# A package of the standard library or the toolchain's own, imported, and four threads (or what
# the language has in their place) that each do a quarter of a sum.
WORK = read_samples("works")
SUM = "499500"
INTERFACES = {
    "python": "import socket; print(socket.if_nameindex()[0][1])",
    "javascript": "import os from 'node:os'; console.log(Object.keys(os.networkInterfaces())[0])",
    "go": """
package main
import ("fmt"; "net")
func main() { found, err := net.Interfaces(); if err != nil { panic(err) }; fmt.Println(found[0].Name) }
""",
}


def test_every_language_is_tried():
    assert sorted(WORK) == sorted(row.name for row in runtimes.LANGUAGES)


@pytest.mark.parametrize("language", sorted(WORK))
async def test_packages_and_threads_work_in_the_sandbox(language, arena: Arena):
    need(language)
    result = await arena.run(Program(language, WORK[language]), limits=Limits(wall_s=60))
    assert (result.status, result.stdout.text.strip()) == (Status.OK, SUM), (
        result.stderr.text or result.message
    )


@pytest.mark.tier_a
@pytest.mark.parametrize("language", INTERFACES)
async def test_programs_are_told_of_the_sandbox_own_interfaces(language, arena: Arena):
    need(language)
    result = await arena.run(Program(language, INTERFACES[language]), limits=Limits(wall_s=60))
    assert (result.status, result.stdout.text.strip()) == (Status.OK, "lo"), result.stderr.text


LOOKUPS = """
import socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    for name in ("localhost", address):
        found = socket.getaddrinfo(name, 80, family, flags=socket.AI_ADDRCONFIG)
        assert found[0][4][0] == address, found
print("found")
"""


@pytest.mark.tier_a  # in tier B there are no sockets
async def test_the_sandbox_own_host_is_found_in_each_family(arena: Arena):
    need("python")
    result = await arena.run(Program("python", LOOKUPS))
    assert result.stdout.text == "found\n", result.stderr.text
