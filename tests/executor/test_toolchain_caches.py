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
    run_or_skip, project: Path, state_dir: Path
):
    (project / "go.mod").write_text("module example.org/m\n\ngo 1.18\n")  # compiled beside its run
    result = await run_or_skip("go", WRITES)
    assert result.stdout.text.startswith("true\nopen /tmp/.go-build/poison: read-only file system")
    (filled,) = (state_dir / "caches").iterdir()
    assert {path.name for path in filled.iterdir()} == {".go-build"}
    assert not (filled / ".go-build" / "poison").exists()
    assert (state_dir / "caches").stat().st_mode & 0o077 == 0


async def test_it_is_filled_once(run_or_skip, project: Path, state_dir: Path):
    await run_or_skip("go", 'fmt.Println("one")')
    (before,) = (state_dir / "caches").iterdir()
    filled_at = before.stat().st_mtime_ns
    await run_or_skip("go", 'fmt.Println("two")')
    (after,) = (state_dir / "caches").iterdir()
    assert (after, after.stat().st_mtime_ns) == (before, filled_at)
