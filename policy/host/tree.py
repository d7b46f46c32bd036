"""A parsed program whose nodes have roles, the same for every language.

Each language's query (`languages/*.scm`) names what its grammar calls a call,
a member, a string, an assignment; everything else in this room works on those
names alone. A capture `@call` gives a node its role, `@call.callee` a part.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from policy import grammars
from policy.deadline import uncounted
from policy.wordlist import word_set

if TYPE_CHECKING:
    from tree_sitter import Node, Query

    from policy.host.language import Language


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
    source: bytes
    root: Node
    roles: Mapping[int, Role]
    declarations: Mapping[int, Role]
    ordered: tuple[tuple[Node, Role], ...]
    parents: dict[int, Node]

    def parent(self, node: Node) -> Node | None:
        """The node that a named node is a child of. The grammar's own answer begins at the root."""
        if not self.parents:
            found = [self.root]
            for inner in found:
                children = inner.named_children
                self.parents.update(dict.fromkeys([child.id for child in children], inner))
                found += children
        return self.parents.get(node.id)

    def role(self, node: Node) -> Role | None:
        """The role of a node."""
        return self.roles.get(node.id)

    def function(self, node: Node) -> str | None:
        """The name of the function that a node is; empty where it has none."""
        role = self.roles.get(node.id)
        role = (
            role if role is not None and role.name == "function" else self.declarations.get(node.id)
        )
        if role is None or role.name != "function":
            return None
        name = role.part("name")
        return text_of(name) if name is not None else ""

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


NODES_MAX = 80_000  # a quarter of a second or so; a program of 5,000 lines has half of them
OPEN_MATCHES_MAX = 1000  # of nodes around one another; the cursor is slow by their number
_DECLARATIONS = word_set("import wildcard use bind append loop function local loads passed")


@functools.cache
def _query(language: Language) -> Query:
    from tree_sitter import Query  # noqa: PLC0415 - loaded with the first program

    with uncounted():  # up to 150 ms
        return Query(grammars.language(language.grammar), language.query)


def read_tree(language: Language, code: str) -> Tree | None:
    """Parse a program, whatever errors it has; None when it is too large or nested too deep."""
    from tree_sitter import QueryCursor  # noqa: PLC0415 - loaded with the first program

    source = code.encode("utf-8", "replace")
    parsed = grammars.parse(language.grammar, source)
    if parsed is None or parsed.root_node.descendant_count > NODES_MAX:
        return None
    root = parsed.root_node
    found: dict[tuple[int, str], tuple[Node, dict[str, tuple[Node, ...]]]] = {}
    cursor = QueryCursor(_query(language), match_limit=OPEN_MATCHES_MAX)
    matches = cursor.matches(root)
    if cursor.did_exceed_match_limit:
        return None
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
    return Tree(language, source, root, roles, declarations, tuple(ordered), {})


def text_of(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")
