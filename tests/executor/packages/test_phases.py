"""What an install or build script leaves as its layer: taken as far as it is a plain folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor import PackagesError
from executor.packages import model
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.npm_registry import Registry
from tests.executor.packages.other_registries import Gems
from tests.needs import needs

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

SECRET = "of the person alone\n"
LAYER_BYTES = 4 << 20

# Stops the shell of the phase, and puts a link in its folder's place when nothing else works there.
EXTCONF = """\
File.write("Makefile", "all:\\ninstall:\\n")
state = ->(pid) { File.read("/proc/#{pid}/stat").rpartition(") ")[2].split }
gem = Process.ppid
shell = state.(gem)[1].to_i
Process.kill(:STOP, shell)
Process.detach(fork do
  Process.setsid
  [$stdin, $stdout, $stderr].each { |one| one.reopen("/dev/null") }
  sleep 0.01 until state.(gem)[0] == "Z"
  out = ENV.fetch("OUT")
  %s
  Process.kill(:CONT, shell)
end)
"""


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder of the person's that any user may read, so that the sandbox alone forbids it."""
    folder = tmp_path / "private"
    (folder / "node_modules").mkdir(parents=True)
    for place in (folder, folder / "node_modules"):
        (place / "notes.txt").write_text(SECRET)
    return folder


def opened(open_with, served, ecosystem):
    registry = model.Registry(served.url, ("files.example.com",), private=True)
    return open_with(
        allow=frozenset({ecosystem}), registries={ecosystem: registry}, layer_bytes=LAYER_BYTES
    )


async def use_npm(engine, served, script: str):
    """Install a package with this script; what a program then finds of its files."""
    Registry(served).add(
        "alpha",
        files={"index.js": "module.exports = 1;\n", "data.txt": "honest\n", "run.sh": script},
        scripts={"postinstall": "sh run.sh"},
    )
    find = (
        "const fs = require('fs'); for (const path of ['/node_modules/notes.txt', "
        "'/packages/javascript/notes.txt', '/node_modules/alpha/inside']) "
        "if (fs.existsSync(path)) console.log(fs.readFileSync(path, 'utf8'));"
    )
    return await run_in(engine, "javascript", find, "alpha")


NPM_ATTACKS = {
    "a link in the place of its folder": (
        'mv "$OUT" "$OUT.x"; ln -s {private} "$OUT"', "its path has a link",
    ),
    "a link around its folder": (
        'out="${{OUT%/tree}}"; mv "$out" "$out.x"; mkdir -p {private}; ln -s {private} "$out"',
        "its path has a link",
    ),
    "a link that leads out": ("ln -s {private} inside", "a link leads out"),
    "a link that leads out by another": (
        "mkdir -p p/q; ln -s ../../../.. p/q/up; ln -s p/q/up/../x inside", "a link leads out",
    ),
    "a link in the place of what is shown": (
        'mv "$OUT/node_modules" "$OUT/other"; ln -s other "$OUT/node_modules"',
        "node_modules is not one of their folders",
    ),
    "a FIFO": ("mkfifo inside", "neither a file, a folder nor a link"),
    "a set-id file": ("touch inside; chmod 4755 inside", "set-id"),
    "a time beyond all clocks": (
        "touch -d @9223372036854775807 inside", "a time that no file system has",
    ),
}  # fmt: skip


@pytest.mark.parametrize("attack", NPM_ATTACKS)
@needs("npm")
async def test_a_script_that_leaves_something_else_than_a_plain_folder_gives_no_layer(
    open_with, served, kept, private, attack
):
    script, words = NPM_ATTACKS[attack]
    async with opened(open_with, served, "javascript") as engine:
        with pytest.raises(PackagesError, match=words):
            print((await use_npm(engine, served, script.format(private=private))).stdout.text)
    assert left(kept) == []


@needs("npm")
async def test_a_link_that_stays_inside_is_kept(open_with, served):
    async with opened(open_with, served, "javascript") as engine:
        result = await use_npm(engine, served, "ln -s ../alpha/data.txt inside")
    assert result.stdout.text == "honest\n\n", result.stderr.text


@needs("gem")
@pytest.mark.parametrize("is_honest", [True, False])
async def test_a_process_that_outlives_the_build_puts_no_link_in_its_place(
    open_with, served, kept, private, is_honest
):
    """The control: the same process changes the layer, which is its own to fill."""
    swap = f'File.rename(out, "#{{out}}.x"); File.symlink("{private}", out)'
    fill = 'File.write("#{out}/notes.txt", "honest\\n")'
    Gems(served).add("alpha", "ALPHA = 1\n", extconf=EXTCONF % (fill if is_honest else swap))
    find = 'path = "/packages/ruby/notes.txt"; puts File.read(path) if File.exist?(path)'
    async with opened(open_with, served, "ruby") as engine:
        if is_honest:
            result = await run_in(engine, "ruby", find, "alpha")
            assert result.stdout.text == "honest\n", result.stderr.text
            return
        with pytest.raises(PackagesError, match="its path has a link"):
            print((await run_in(engine, "ruby", find, "alpha")).stdout.text)
    assert left(kept) == []


@needs("npm")
async def test_a_layer_that_is_too_large_is_named_so_with_its_limit(open_with, served, kept):
    script = f"head -c {LAYER_BYTES} /dev/zero > large"
    async with opened(open_with, served, "javascript") as engine:
        with pytest.raises(PackagesError, match="exceed 4,194,304 bytes") as caught:
            await use_npm(engine, served, script)
    assert "layer_bytes" in caught.value.hint
    assert left(kept) == []
