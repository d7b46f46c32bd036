"""A toolchain's own cache is filled once by the server, and programs can't change it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.tier_a

WRITES = """
package main

import (
	"fmt"
	"os"
)

func main() {
	entries, _ := os.ReadDir("/tmp/.go-build")
	fmt.Println(len(entries) > 0)
	fmt.Println(os.WriteFile("/tmp/.go-build/poison", nil, 0o600))
}
"""


async def test_a_program_sees_what_the_server_filled_and_cannot_write_it(
    run, project: Path, state_dir: Path
):
    (project / "go.mod").write_text("module example.org/m\n\ngo 1.18\n")  # compiled beside its run
    result = await run("go", WRITES)
    assert result.stdout.text.startswith("true\nopen /tmp/.go-build/poison: read-only file system")
    (filled,) = (state_dir / "caches").glob("*/.go-build")
    assert [path.name for path in filled.parent.iterdir()] == [".go-build"]
    assert not (filled / "poison").exists()
    assert (state_dir / "caches").stat().st_mode & 0o077 == 0


async def test_it_is_filled_once(run, project: Path, state_dir: Path):
    await run("go", 'fmt.Println("one")')
    (before,) = (state_dir / "caches").glob("*/.go-build")
    filled_at = before.stat().st_mtime_ns
    await run("go", 'fmt.Println("two")')
    (after,) = (state_dir / "caches").glob("*/.go-build")
    assert (after, after.stat().st_mtime_ns) == (before, filled_at)


async def test_what_a_jvm_waits_by_is_compiled_once(run, state_dir: Path):
    await run("java", "System.out.println(1);")
    (agent,) = (state_dir / "caches").glob("*/.classes/ctxmode/prewarm/Prewarm.class")
    compiled_at = agent.stat().st_mtime_ns
    await run("java", "System.out.println(2);")
    (again,) = (state_dir / "caches").glob("*/.classes/ctxmode/prewarm/Prewarm.class")
    assert (again, again.stat().st_mtime_ns) == (agent, compiled_at)
