"""Paths as text: made absolute and normal without reading the disk."""

from __future__ import annotations

import re
from collections.abc import Mapping

from policy import marks

_HAS_EMPTY_OR_DOTS = re.compile(r"/(?:\.{0,2}/|\.{0,2}$)")


def resolve(path: str, cwd: str, links: Mapping[str, str] | None = None) -> str:
    """Resolve `path` from `cwd`, without `.` and `..`, through links known to be made earlier. A
    path that begins with something unknown stays as it is: it may be absolute."""
    is_whole = path.startswith("/") or (path[:1] and marks.has_hole(path[0]))
    whole = normal(path if is_whole else f"{cwd}/{path}")
    for _ in range(8):  # links to links; a loop ends here too
        link = _link_in(whole, links) if links else None
        if not links or link is None:
            break
        whole = normal(links[link] + whole[len(link) :])
    return whole


def _link_in(path: str, links: Mapping[str, str]) -> str | None:
    """Return the link that the path is, or goes through."""
    end = len(path)
    while end > 0:
        if path[:end] in links:
            return path[:end]
        end = path.rfind("/", 0, end)
    return None


def find_known_folder(path: str) -> str:
    """Return the folders of a path up to where it is only partly known; all of a known path."""
    if marks.is_known(path):
        return path
    segments = path.split("/")
    first = next(at for at, segment in enumerate(segments) if not marks.is_known(segment))
    return "/".join(segments[:first]) or "/"


def is_below(path: str, folder: str) -> bool:
    """Return True for a path inside the folder."""
    return path.startswith(folder.rstrip("/") + "/")


def lies_in(path: str, folder: str) -> bool:
    """Return True for a path inside the folder, or the folder itself."""
    return path == folder or is_below(path, folder)


def normal(path: str) -> str:
    """Return the path without empty, `.` and `..` segments; `..` after an unknown segment stays."""
    if path[:1] == "/" and not _HAS_EMPTY_OR_DOTS.search(path):
        return path
    segments: list[str] = []
    for segment in path.split("/"):
        if segment in ("", "."):
            continue
        if segment == ".." and segments and segments[-1] != "..":
            if marks.is_known(segments[-1]) or not marks.has_hole(segments[-1]):
                segments.pop()
                continue
        elif segment == ".." and path.startswith("/") and not segments:
            continue
        segments.append(segment)
    joined = "/".join(segments)
    return "/" + joined if path.startswith("/") else joined
