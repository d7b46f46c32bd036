"""Run by the Python that has aider: reads a task as JSON, prints the files of aider's map in order.

Nothing of this project is imported here.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def main() -> None:
    """Answer one task."""
    asked = json.load(sys.stdin)
    root, files = asked["root"], [name for name in asked["files"] if name]
    coder = importlib.import_module("aider.coders.base_coder").Coder
    maps = importlib.import_module("aider.repomap").RepoMap

    def ignore(*_: object, **__: object) -> None:
        """Say nothing."""

    io = SimpleNamespace(
        tool_output=ignore,
        tool_warning=ignore,
        tool_error=ignore,
        read_text=lambda name: Path(name).read_text("utf-8", "replace"),
    )
    model = SimpleNamespace(token_count=lambda text: len(text) / 4)
    made = maps(map_tokens=asked["tokens"], root=root, main_model=model, io=io)
    made.TAGS_CACHE = {}
    paths = [str(Path(root, name)) for name in files]
    named, idents = _find_mentions(coder, asked["task"], files)
    ranked: list[Any] = []

    def keep(*arguments: object, **options: object) -> list[Any]:
        ranked.extend(maps.get_ranked_tags(made, *arguments, **options))
        return list(ranked)

    made.get_ranked_tags = keep
    shown = made.get_ranked_tags_map([], paths, asked["tokens"], named, idents) or ""
    held = {line.removesuffix(":") for line in shown.splitlines() if line}
    order = dict.fromkeys(tag[0] for tag in ranked)
    print(json.dumps([name for name in order if name in held]))


def _find_mentions(coder: Any, task: str, files: list[str]) -> tuple[set[str], set[str]]:  # noqa: ANN401
    """Return the files and the words that a task mentions, as aider finds them."""
    seen = SimpleNamespace(
        get_all_relative_files=lambda: files,
        get_addable_relative_files=lambda: set(files),
        get_inchat_relative_files=list,
        abs_read_only_fnames=(),
    )
    words = coder.get_ident_mentions(seen, task)
    named = coder.get_file_mentions(seen, task)
    return named | coder.get_ident_filename_matches(seen, words), words


if __name__ == "__main__":
    main()
