"""A parsed program whose nodes have roles, the same for every language.

Each language's query (`guard.scm`) names the grammar's calls, members, strings, assignments.
Everything else in this room works on those names alone. A capture `@call` gives a node its role,
`@call.callee` a part.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from base.wordlist import word_set
from policy import grammars
from policy.deadline import pause_limit

if TYPE_CHECKING:
    from tree_sitter import Node, Query

    from policy.host.language import HostLanguage


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a node, and its parts by name."""

    name: str
    parts: Mapping[str, tuple[Node, ...]]

    def part(self, name: str) -> Node | None:
        """Return the first part of a name."""
        nodes = self.parts.get(name)
        return nodes[0] if nodes else None

    def inner(self) -> tuple[Node, ...]:
        """Return the expressions that this one stands for, begins with, or chooses from."""
        return self.parts.get("option") or self.parts.get(_THROUGH[self.name], ())[:1]


NO_ROLE = Role("", {})
_THROUGH = {"wrap": "value", "pipe": "call", "choice": "option", "path": "left"}


class CallArguments(NamedTuple):
    """The arguments of one call: by position, and by name."""

    positional: list[Node]
    named: dict[str, Node]

    def get(self, *keys: int | str) -> Node | None:
        """Return the first given argument of these positions or names."""
        for key in keys:
            if isinstance(key, str):
                if key in self.named:
                    return self.named[key]
            elif -len(self.positional) <= key < len(self.positional):
                return self.positional[key]
        return None


@dataclass(frozen=True, slots=True)
class RoleTree:
    """A program and the roles of its nodes: as expressions, and as declarations of names."""

    language: HostLanguage
    source: bytes
    root: Node
    roles: Mapping[int, Role]
    declarations: Mapping[int, Role]
    ordered: tuple[tuple[Node, Role], ...]
    parents: dict[int, Node]
    piped: Mapping[int, Node]  # what a pipe operator gives, by its call

    def parent(self, node: Node) -> Node | None:
        """Return a named node's parent. The grammar's own answer begins at the root."""
        if not self.parents:
            found = [self.root]
            for inner in found:
                children = inner.named_children
                self.parents.update(dict.fromkeys([child.id for child in children], inner))
                found += children
        return self.parents.get(node.id)

    def role(self, node: Node | None) -> Role:
        """Return the role of a node; one without a name if it has none."""
        return self.roles.get(node.id, NO_ROLE) if node is not None else NO_ROLE

    def function(self, node: Node) -> str | None:
        """Return the name of the function that a node is; empty if it has none."""
        role = self.declarations.get(node.id, NO_ROLE)
        return text_of(role.part("name")) if role.name == "function" else None

    def receiver(self, call: Role) -> Node | None:
        """Return the object that a method is called on."""
        return self._method(call).part("object")

    def method(self, call: Role) -> str:
        """Return the name of the method a call calls; empty for a plain function."""
        return text_of(self._method(call).part("name"))

    def callee(self, call: Role) -> Node | None:
        """Return the function in a call: the name of a method, or an expression."""
        return self._method(call).part("name") or call.part("callee")

    def _method(self, call: Role) -> Role:
        """Return where object and name of a method are: in the call, or in the member it calls."""
        callee = call.part("callee")
        member = self.role(callee)
        return call if callee is None else member if member.name == "member" else NO_ROLE

    def of(self, name: str) -> Iterator[tuple[Node, Role]]:
        """Yield all nodes of a role, in the order of the text."""
        return ((node, role) for node, role in self.ordered if role.name == name)

    def children(self, node: Node) -> list[Node]:
        """Return the elements of an argument list or a literal, without comments and separators."""
        skipped = ("comment", "comma", "line_comment", "block_comment")
        return [child for child in node.named_children if child.type not in skipped]

    def arguments(self, call: Node) -> CallArguments:
        """Return the arguments of a call; options in a map are named arguments, too."""
        positional: list[Node] = [self.piped[call.id]] if call.id in self.piped else []
        named: dict[str, Node] = {}
        for group in self.role(call).parts.get("arguments", ()):
            is_group = self.role(group).name == "arguments"
            for argument in self.children(group) if is_group else [group]:
                self._add_argument(argument, positional, named)
        return CallArguments(positional, named)

    def _add_argument(self, node: Node, positional: list[Node], named: dict[str, Node]) -> None:
        role = self.role(node)
        value = role.part("value")
        if role.name == "pair" and value is not None:
            named[key_of(role)] = value
        elif role.name == "wrap" and value is not None:
            self._add_argument(value, positional, named)
        elif role.name not in ("pair", "wrap"):
            if role.name in ("map", "keywords", "list"):
                for child in self.children(node):
                    self._add_argument_of_map(child, named)
            if role.name != "keywords":
                positional.append(node)

    def _add_argument_of_map(self, node: Node, named: dict[str, Node]) -> None:
        role = self.role(node)
        if role.name in ("pair", "keywords"):
            self._add_argument(node, [], named)
        elif role.name == "identifier":
            named[text_of(node)] = node  # the shorthand {args}


NODES_MAX = 80_000  # a quarter of a second or so; a program of 5,000 lines has half of them
ERRORS_MAX = 8000  # nodes in a text that is not a program; the cursor is slow by the square of that
OPEN_MATCHES_MAX = 500  # of nodes around one another; the cursor is slow by their number
_HOLDERS = word_set("wrap spread interpolation")  # of a value, the first child if none is named
_DECLARATIONS = word_set("import wildcard use bind append loop function local loads passed")


@functools.cache
def _query(language: HostLanguage) -> Query:
    from tree_sitter import Query  # noqa: PLC0415 - loaded with the first program

    with pause_limit():  # up to 150 ms
        return Query(grammars.language(language.name), language.query)


def _is_too_large(root: Node) -> bool:
    if root.descendant_count > NODES_MAX:
        return True
    errors = [node for node in (root, *root.children) if node.is_error] if root.has_error else []
    return any(error.child_count > ERRORS_MAX for error in errors)


def read_tree(language: HostLanguage, code: str) -> RoleTree | None:
    """Parse a program, whatever its errors; None if it is too large or nested too deep."""
    from tree_sitter import QueryCursor  # noqa: PLC0415 - loaded with the first program

    source = code.encode("utf-8", "replace")
    parsed = grammars.parse(language.name, source)
    if parsed is None or _is_too_large(parsed.root_node):
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
                parts[part] = tuple({n.id: n for n in (*parts.get(part, ()), *nodes)}.values())
    roles: dict[int, Role] = {}
    declarations: dict[int, Role] = {}
    ordered: list[tuple[Node, Role]] = []
    for (key_id, name), (node, parts) in found.items():
        if name in _HOLDERS and "value" not in parts:
            parts["value"] = tuple(node.named_children[:1])
        for field in ("name", "parameters") if name == "function" else ():  # as the grammar has it
            child = node.child_by_field_name(field)
            if field not in parts and child is not None and child.is_named:
                parts[field] = (child,)
        role = Role(name, parts)
        table = declarations if name in _DECLARATIONS else roles
        if key_id not in table:  # the first pattern that gives a role decides
            table[key_id] = role
            ordered.append((node, role))
    ordered.sort(key=lambda pair: pair[0].start_byte)
    pipes = [role for _, role in ordered if role.name == "pipe"]
    piped = {
        call.id: value
        for call, value in ((role.part("call"), role.part("value")) for role in pipes)
        if call is not None and value is not None
    }
    return RoleTree(language, source, root, roles, declarations, tuple(ordered), {}, piped)


def text_of(node: Node | None) -> str:
    """Return the source of a node; empty for none."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def key_of(pair: Role) -> str:
    """Return the name in a pair, without its quotes and separators."""
    return text_of(pair.part("name")).strip("\"': =>")
