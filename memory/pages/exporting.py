"""Writing the newest version of all pages into a folder."""

from __future__ import annotations

from pathlib import Path

from memory.errors import BadInputError, StoreUnavailableError
from memory.pages.repository import Repository


def export_pages(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Write all pages into a folder that is empty or missing; return their paths.

    Raises:
        BadInputError: something is in the folder, or it is none.
        StoreUnavailableError: it cannot be written.
    """
    entries = repository.list_entries()
    texts = repository.read_objects([one.blob for one in entries])
    written = []
    try:
        # Into an empty folder: there is no link that a page could be written through.
        if folder.exists() and any(folder.iterdir()):
            raise BadInputError(f"{folder} is not empty", "name a folder that is empty or new")
        for entry, text in zip(entries, texts, strict=True):
            if text is None:
                continue
            path = folder / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "x", encoding="utf-8", newline="") as file:
                file.write(text)
            written.append(entry.path)
    except NotADirectoryError:
        raise BadInputError(f"{folder} is no folder", "name one that is empty or new") from None
    except (OSError, ValueError) as error:
        raise StoreUnavailableError(f"{folder} cannot be written: {error}") from error
    return tuple(written)
