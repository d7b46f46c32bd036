"""Calls on files answer programs as the kernel does, also where the supervisor does them."""

from __future__ import annotations

from pathlib import Path

from executor import Request

TIMES = r"""
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(os.environ["TMPDIR"])
open("file", "w").close()

def said(call, *arguments):
    if call(*arguments) < 0:
        return errno.errorcode[ctypes.get_errno()]
    found = os.stat("file")
    return found.st_atime_ns, found.st_mtime_ns

print(said(libc.utime, b"file", struct.pack("=2q", 5, 7)))
print(said(libc.utimes, b"file", struct.pack("=4q", 5, 6, 7, 8)))
print(said(libc.futimesat, -100, b"file", struct.pack("=4q", 9, 10, 11, 12)))
print(said(libc.utimensat, -100, b"file", struct.pack("=4q", 1, 2, 3, 4), 0))
print(said(libc.utimes, b"file", struct.pack("=4q", 1, 1_000_000, 1, 1)))
print(said(libc.utimes, b"file", struct.pack("=4q", 1, -1, 1, 1)))
print(said(libc.utimes, b"none", struct.pack("=4q", 1, 1, 1, 1)))
before = os.stat("file").st_mtime_ns
print(said(libc.utimes, b"file", None)[1] > before)
"""
SET = """\
(5000000000, 7000000000)
(5000006000, 7000008000)
(9000010000, 11000012000)
(1000000002, 3000000004)
EINVAL
EINVAL
ENOENT
True
"""


async def test_times_are_set_in_every_form(run):
    result = await run("python", TIMES)
    assert result.stdout.head == SET, result.stderr.head


async def test_programs_that_look_at_attributes_take_it_that_there_are_none_elsewhere(
    executor, project: Path
):
    """A folder with a secret is granted entry by entry, and what lies above it not at all."""
    (project / ".env").write_text("TOKEN=hidden\n")
    (project / "sub").mkdir()
    (project / "sub/file").touch()
    code = "ls -la . sub && ls -ld .. / && cp -a sub $TMPDIR/copy"
    result = (await executor.run(Request("shell", code))).result
    assert (result.exit_code, result.stderr.head) == (0, "")
