"""What a host does to a file of its project while a session is at work there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from executor import Result

HOST_CHANGES = {
    "edited in place": ("old", lambda path: path.write_text("new\n")),
    "replaced by renaming": ("old", lambda path: replace_file(path, "new\n")),
    "born after a failed look": (None, lambda path: path.write_text("new\n")),
    "removed": ("old", lambda path: path.unlink()),
    "replaced by a folder's renaming": ("old", lambda path: replace_folder(path, "new\n")),
}


def replace_file(path: Path, text: str) -> None:
    (path.parent / "beside").write_text(text)
    (path.parent / "beside").rename(path)


def replace_folder(path: Path, text: str) -> None:
    folder = path.parent
    folder.rename(folder.with_name("earlier"))
    folder.mkdir()
    path.write_text(text)


async def see_what_the_host_changes(
    change: str,
    language: str,
    call: Callable[..., Awaitable[Result]],
    project: Path,
    **more: object,
) -> None:
    """Change a file between two calls that look at it, the second in the folder of the first."""
    before, act = HOST_CHANGES[change]
    path = project / "sub" / "file"
    path.parent.mkdir()
    (project / "other").touch()
    if before:
        path.write_text(f"{before}\n")
    look, enter = "cat file 2>/dev/null || echo absent", "cd sub"
    if language == "python":
        look = (
            "import os\nprint(open('file').read().strip() if os.path.exists('file') else 'absent')"
        )
        enter = "import os; os.chdir('sub')"
    seen = await call(language, f"{enter}\n{look}", **more)
    assert seen.stdout.text == f"{before or 'absent'}\n"
    act(path)
    seen = await call(language, look, **more)  # it is in that folder still
    assert seen.stdout.text == ("absent\n" if change == "removed" else "new\n"), seen.stderr.text
