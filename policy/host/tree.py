"""A parsed program whose nodes have roles, the same for every language.

Each language's query (`languages/*.scm`) names what its grammar calls a call,
a member, a string, an assignment; everything else in this room works on those
names alone. A capture `@call` gives a node its role, `@call.callee` a part.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policy import grammars
from policy.deadline import uncounted
from policy.wordlist import word_set

if TYPE_CHECKING:
    from tree_sitter import Node, Query

_FOLDER = Path(__file__).with_name("languages")


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """What is known of one language; read from its two files.

    `sinks` maps a dotted name to what calling it does, `folds` and `methods`
    functions and methods to how a constant comes out of them, `constants`
    dotted names to their values, `modules` other names of modules, `assigns`
    functions that fill their first argument from the others, `returns` what
    object a function gives, `members` what object a member is (`*.name`: of any
    module), `calls` methods of functions that call them, with how many
    arguments come before the function's own.
    """

    name: str
    grammar: str
    query: str
    sinks: Mapping[str, str]
    folds: Mapping[str, str]
    methods: Mapping[str, str]
    constants: Mapping[str, str]
    modules: Mapping[str, str]
    assigns: Mapping[str, str]
    returns: Mapping[str, str]
    members: Mapping[str, str]
    calls: Mapping[str, int]
    traits: frozenset[str]
    wildcards: tuple[str, ...]
    namespaces: tuple[str, ...]

    def lookup(self, table: Mapping[str, str], dotted: str) -> str | None:
        """An entry of a table; a namespace that is always there may be written or not."""
        if dotted in table:
            return table[dotted]
        for namespace in self.namespaces:
            if dotted.startswith(namespace) and dotted[len(namespace) :] in table:
                return table[dotted[len(namespace) :]]
        if "any_case" in self.traits and dotted != dotted.lower():
            return self.lookup(table, dotted.lower())
        return table.get(f"{dotted.rpartition('.')[0]}.*")

    def member(self, base: str, name: str) -> str:
        """The dotted name of a member: what the tables say it is, else both names joined."""
        dotted = f"{base}.{name}"
        known = self.members.get(dotted)
        if known is None and base[:1] != "?":
            known = self.members.get(f"*.{name}")
        return base if known == "itself" else known or dotted


@dataclass(frozen=True, slots=True)
class Role:
    """What a node is, and its parts by name."""

    name: str
    parts: Mapping[str, tuple[Node, ...]]

    def part(self, name: str) -> Node | None:
        """The first part of a name."""
        nodes = self.parts.get(name)
        return nodes[0] if nodes else None


@dataclass(frozen=True, slots=True)
class Tree:
    """A program and the roles of its nodes: as expressions, and as declarations of names."""

    language: Language
    root: Node
    roles: Mapping[int, Role]
    declarations: Mapping[int, Role]
    ordered: tuple[tuple[Node, Role], ...]

    def role(self, node: Node) -> Role | None:
        """The role of a node."""
        return self.roles.get(node.id)

    def receiver(self, call: Role) -> Node | None:
        """What a method is called on: a part of the call itself, or of the member it calls."""
        callee = call.part("callee")
        if callee is None:
            return call.part("object")
        member = self.role(callee)
        return member.part("object") if member is not None and member.name == "member" else None

    def method(self, call: Role) -> Node | None:
        """The name of the method a call calls; None for a plain function."""
        callee = call.part("callee")
        if callee is None:
            return call.part("name")
        member = self.role(callee)
        return member.part("name") if member is not None and member.name == "member" else None

    def of(self, *names: str) -> Iterator[tuple[Node, Role]]:
        """Every node of some roles, in the order of the text."""
        return ((node, role) for node, role in self.ordered if role.name in names)


_TABLES = ("sinks", "folds", "methods", "constants", "modules", "assigns", "returns", "members")
_DECLARATIONS = word_set("import wildcard use bind append loop function local loads")
_ALIASES = {"js": "javascript", "ts": "typescript", "py": "python", "c#": "csharp", "cs": "csharp",
            "c++": "cpp", "rb": "ruby", "ex": "elixir", "node": "javascript", "rs": "rust",
            "golang": "go", "pl": "perl"}  # fmt: skip


@functools.cache
def load_language(name: str) -> Language | None:
    """The language of a name, or None when no query knows it."""
    name = _ALIASES.get(name.lower(), name.lower())
    path = _FOLDER / f"{name}.toml"
    if not re.fullmatch(r"\w+", name) or not path.is_file():
        return None
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    shared = _shared(data)
    queries = (*data.get("shared_queries", ()), name)
    return Language(
        name,
        data.get("grammar", name),
        "".join((_FOLDER / f"{part}.scm").read_text(encoding="utf-8") for part in queries),
        _expanded(shared["sinks"]),
        _expanded(shared["folds"]),
        _expanded(shared["methods"]),
        shared["constants"],
        shared["modules"],
        shared["assigns"],
        _expanded(shared["returns"]),
        _expanded(shared["members"]),
        data.get("calls", {}),
        frozenset(data.get("traits", ())),
        tuple(data.get("wildcards", ())),
        tuple(data.get("namespaces", ())),
    )


def _shared(data: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The tables of a language, on top of those of the one it extends."""
    tables = {key: dict(data.get(key, {})) for key in _TABLES}
    if parent := data.get("extends"):
        inherited = tomllib.loads((_FOLDER / f"{parent}.toml").read_text(encoding="utf-8"))
        tables = {key: _shared(inherited)[key] | table for key, table in tables.items()}
    return tables


def _expanded(table: Mapping[str, str]) -> dict[str, str]:
    """`a.b|c` stands for `a.b` and `a.c`."""
    expanded = {}
    for key, value in table.items():
        first, *others = key.split("|")
        head, dot, _ = first.rpartition(".")
        expanded[first] = value
        for name in others:
            expanded[head + dot + name] = value
    return expanded


@functools.cache
def _query(language: Language) -> Query:
    from tree_sitter import Query  # noqa: PLC0415 - loaded with the first program

    with uncounted():  # up to 150 ms
        return Query(grammars.language(language.grammar), language.query)


def read_tree(language: Language, code: str) -> Tree | None:
    """Parse a program, whatever errors it has; None when that takes too long."""
    from tree_sitter import QueryCursor  # noqa: PLC0415 - loaded with the first program

    parsed = grammars.parse(language.grammar, code.encode("utf-8", "replace"))
    if parsed is None:
        return None
    root = parsed.root_node
    found: dict[tuple[int, str], tuple[Node, dict[str, tuple[Node, ...]]]] = {}
    matches = QueryCursor(_query(language)).matches(root)
    for _, captures in sorted(matches, key=lambda match: match[0]):
        name = next((key for key in captures if "." not in key and key[0] != "_"), None)
        if name is None:
            continue
        node = captures[name][0]
        _, parts = found.setdefault((node.id, name), (node, {}))
        for key, nodes in captures.items():
            if "." in key:
                part = key.partition(".")[2]
                known = parts.get(part, ())
                new = tuple(n for n in nodes if all(n.id != k.id for k in known))
                parts[part] = known + new
    roles: dict[int, Role] = {}
    declarations: dict[int, Role] = {}
    ordered: list[tuple[Node, Role]] = []
    for (key_id, name), (node, parts) in found.items():
        role = Role(name, parts)
        table = declarations if name in _DECLARATIONS else roles
        if key_id not in table:  # the first pattern that gives a role decides
            table[key_id] = role
            ordered.append((node, role))
    ordered.sort(key=lambda pair: pair[0].start_byte)
    return Tree(language, root, roles, declarations, tuple(ordered))


def text_of(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")
