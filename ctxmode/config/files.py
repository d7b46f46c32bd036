"""TOML files, read with the line of each key for error messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from base.wording import list_choices
from ctxmode.config import file_names
from ctxmode.errors import UsageError, why

BYTES_MAX = 1024 * 1024
USER_FILE = Path(file_names.USER_FILE)
PROJECT_FILE = Path(file_names.PROJECT_FILE)
_HEADER = re.compile(r"\s*+\[\[?([^\]\[=,{}]++)\]\]?\s*+(?:#.*)?$")
_KEY = re.compile(r"""\s*((?>(?:"[^"]*"|'[^']*'|[A-Za-z0-9_.-]++)+))\s*=""")
_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^.]+))""")
_POSITION = re.compile(r"\s*\(at line (\d+), column \d+\)")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """Data of a file; empty if the file is missing."""

    path: Path
    data: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def at(self, *key: str) -> str:
        """Return `file:line` of a key, or of the nearest table around it."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.lines:
                return f"{self.path}:{self.lines[key[:length]]}"
        return str(self.path)

    def error(self, key: tuple[str, ...], problem: str, hint: str) -> UsageError:
        return UsageError(f"{self.at(*key)}: {problem}", hint)

    def read(
        self,
        key: tuple[str, ...],
        value: object,
        kind: Any,  # noqa: ANN401 - a type
        problem: str,
        hint: str,
    ) -> Any:  # noqa: ANN401 - of that type
        """Convert the value of a key to a type; raise UsageError if it is of another."""
        import msgspec  # noqa: PLC0415 - only if the file has such keys

        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError:
            raise self.error(key, problem, hint) from None

    def table(self, *key: str, known: Iterable[str] = (), below: str = "") -> Mapping[str, Any]:
        """Return a table; empty if it is missing. `below` is the name of a key, for the remedy.
        Raise UsageError if it is not a table, or has a key that is not among those `known`, if any
        are."""
        found: Any = self.data
        for part in key:
            found = found.get(part, {}) if isinstance(found, Mapping) else {}
        if not isinstance(found, Mapping):
            remedy = f"Write [{'.'.join(filter(None, (*key, below)))}]."
            raise self.error(key, f"{'.'.join(key)} must be a table", remedy)
        for name in found:
            if known and name not in known:
                raise self.unknown((*key, name), known)
        return found

    def refuse_tables(self, user: ConfigFile, *key: str) -> tuple[str, ...]:
        """Return the warning that only the user's file may have a table; empty if this, a project's
        file, has none."""
        found: Any = self.data
        for part in key:
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is None:
            return ()
        return (f"{self.at(*key)}: a project cannot set {key[-1]}; set them in {user.path}",)

    def unknown(self, key: tuple[str, ...], known: Iterable[str]) -> UsageError:
        """Build the error for an unknown key, with the nearest known key."""
        hint = list_choices(key[-1], known, cutoff=0.5)
        return self.error(key, f"unknown key {'.'.join(key)!r}", hint)


def read_config_file(path: Path, root: Path = Path("/")) -> ConfigFile:
    """Read a file; a missing file is empty. Links are not followed out of `root`, a real path, nor
    to a file of secrets in it. Raise UsageError if the file cannot be read or is not TOML."""
    from base.plain_files import read_plain  # noqa: PLC0415 - only commands with settings need it
    from policy.project_file import read_project_file  # noqa: PLC0415 - as above

    try:
        if root == Path("/"):  # the user's own
            text = read_plain(path, BYTES_MAX).decode("utf-8")
        else:
            data = read_project_file(str(path.absolute()), str(root), None, BYTES_MAX)
            text = data.decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ConfigFile(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {why(error)}", "Fix or remove the file.") from error
    return parse(path, text)


def parse(path: Path, text: str) -> ConfigFile:
    """Read the data and lines of a file's text; raise UsageError if it is not TOML."""
    from base.strict_data import load_toml  # noqa: PLC0415 - only if the file exists

    try:
        data = load_toml(text)
    except (ValueError, RecursionError) as error:
        found = _POSITION.search(str(error))
        line = found[1] if found else text.count("\n") + 1  # "at end of document"
        where = f"{path}:{line}"
        problem = _POSITION.sub("", str(error))
        raise UsageError(f"{where}: {problem}", f"Fix the TOML syntax in line {line}.") from error
    return ConfigFile(path, data, find_lines(text))


def find_lines(text: str) -> dict[tuple[str, ...], int]:
    """Find the first line of each table and key. Keys of tables in an array have an additional
    part: `#1` and so on."""
    found: dict[tuple[str, ...], int] = {}
    arrays: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _split_key(header[1])
            if line.lstrip().startswith("[["):
                found.setdefault(table, number)
                arrays[table] = arrays.get(table, 0) + 1
            for length in range(len(table), 0, -1):
                if table[:length] in arrays:
                    item = f"#{arrays[table[:length]]}"
                    table = (*table[:length], item, *table[length:])
                    break
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, *_split_key(key[1])), number)
    return found


def _split_key(key: str) -> tuple[str, ...]:
    return tuple((quoted or single or bare).strip() for quoted, single, bare in _PART.findall(key))
