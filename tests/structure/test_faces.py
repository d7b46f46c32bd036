"""Faces of rooms: what a room gives to others, and that they import nothing else of it."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.test_rooms import room_of

ROOT = Path(__file__).parents[2]

FACES = {
    "base": {
        *("base.addresses", "base.bounded_run", "base.clock", "base.digests"),
        *("base.lazy_exports", "base.frames", "base.bounded_run", "base.globs", "base.host_homes"),
        *("base.locks", "base.named_tuples", "base.plain_files", "base.process", "base.wording"),
        *("base.secrets", "base.stores", "base.strict_data", "base.wordlist"),
    },
    "executor": {
        *("executor", "executor.containers", "executor.engine", "executor.instance"),
        *("executor.network", "executor.packages", "executor.project", "executor.project.view"),
        "executor.run",
    },
    "fleet": {"fleet"},
    "images": {"images", "images.inventory", "images.image_build"},
    "memory": {
        *("memory.facts", "memory.pages", "memory.sessions", "memory.sessions.importers"),
        *("memory.errors", "memory.gate", "memory.texts"),
        # Readers of transcripts, one in each host's folder, are written with these.
        *("memory.sessions.line_reader", "memory.sessions.records"),
        *("memory.sessions.importers.importer", "memory.sessions.importers.own"),
        *("memory.sessions.importers.record_fields", "memory.sessions.importers.untrusted_json"),
        "memory.sessions.importers.whole_json",
    },
    "kb": {
        *("kb", "kb.all_stores", "kb.detect", "kb.eviction", "kb.eviction", "kb.filters"),
        "kb.grammars",
        *("kb.merging", "kb.mirrors", "kb.pages", "kb.parsing", "kb.query", "kb.tokens"),
        *("kb.words", "kb.workers"),
    },
    "policy": {"policy", "policy.deadline", "policy.messages", "policy.project_file"},
    "repomap": {"repomap", "repomap.reading", "repomap.rendering", "repomap.workers"},
    "runtimes": {"runtimes", "runtimes.languages", "runtimes.packages"},
}
"""Each room with the packages and modules of it that other rooms import."""

EVERY = sorted(face for faces in FACES.values() for face in faces)


def is_name(node: ast.expr, name: str) -> bool:
    """Return whether an expression is this name alone."""
    return isinstance(node, ast.Name) and node.id == name


def imports_of(source: str, room: str) -> Iterator[tuple[str, str]]:
    """Yield each module of a room that a text imports from, with the name; "" is the module. Of a
    room that is imported by itself, these are the names that it is asked for."""
    nodes = list(ast.walk(ast.parse(source)))
    imports = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    yield from ((name, "") for name in imports if name.startswith(f"{room}."))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == room:
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and room in imports and is_name(node.value, room):
            yield room, node.attr


def read_names(package: str) -> dict[str, str] | None:
    """Read the names that a package's stub lists, each with its module; None where it has none."""
    stub = ROOT / package.replace(".", "/") / "__init__.pyi"
    if not stub.exists():
        return None
    nodes = ast.parse(stub.read_text()).body
    listed = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in listed for alias in node.names}


def find_passed_by(source: str, room: str) -> list[str]:
    """List what a text imports of a room by another way than its face."""
    passed = []
    for module, name in imports_of(source, room):
        if f"{module}.{name}" in FACES[room]:
            continue
        names = read_names(module) if module in FACES[room] else {}
        if names is not None and name not in names and f"{module}.{name}" not in FACES[room]:
            passed.append(f"{module}: {name}")
    return passed


@pytest.mark.parametrize("room", FACES)
def test_other_rooms_import_only_the_face(room, modules):
    others = {path: text for path, text in modules.items() if room_of(path).split("/")[0] != room}
    found = {path: find_passed_by(text, room) for path, text in others.items() if room in text}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("face", EVERY)
def test_each_name_of_a_face_is_that_of_its_module(face):
    package = importlib.import_module(face)
    for name, module in (read_names(face) or {}).items():
        own = importlib.import_module(f"{face}.{module or name}")
        assert getattr(package, name) is (getattr(own, name) if module else own)


@pytest.mark.parametrize("face", EVERY)
def test_each_name_of_a_face_is_used(face, modules):
    room = face.partition(".")[0]
    others = (text for path, text in modules.items() if not path.startswith(f"{room}/"))
    found = (one for text in others if face in text for one in imports_of(text, room))
    assert set(read_names(face) or ()) - {name for module, name in found if module == face} == set()


@pytest.mark.parametrize(
    "source",
    [
        "from memory.facts.store import FactStore",
        "from memory.facts import writing",
        "import memory.sessions.store",
        "def f():\n    from memory.pages.pushing import push",
    ],
)
def test_a_way_past_the_face_is_seen(source):
    assert find_passed_by(source, "memory")
    assert find_passed_by("import kb\nkb.connection", "kb")
    assert not find_passed_by("import kb\nkb.Store", "kb")
    assert not find_passed_by("from memory.facts import FactStore", "memory")
