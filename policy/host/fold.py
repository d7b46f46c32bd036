"""Constant folding: the values that a program passes to a call, if they are written down."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from policy import marks
from policy.host import transforms, value_flow
from policy.host.names import Binding, Names
from policy.host.references import REFERENCES
from policy.host.transforms import Value
from policy.host.tree import Role, RoleTree, text_of
from policy.host.value_flow import ALTERNATIVES_MAX, combine, product, string_texts
from policy.shell.state import VALUE_MAX

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.shell.walk import Walk

DEPTH_MAX = 24
BOUND_PATH = "FILE_CONTENT_PATH"
UNKNOWN: Value = marks.WORD
Found = TypeVar("Found", Value, str)


class Folder:
    """Folds expressions of one program."""

    def __init__(self, walk: Walk, tree: RoleTree) -> None:
        self.walk = walk
        self.tree = tree
        self.names = Names(tree)
        self.depth = 0
        self.cuts = 0  # how often an expression was given up: it is too deep, or its own part
        self.passed: dict[tuple[str, int, str], list[Value]] = {}
        self.folded: dict[int, list[Value] | None] = {}
        self.referred: dict[int, list[str] | None] = {}
        self.given: dict[str, list[tuple[Node, list[Node]]]] | None = None
        self.returned: dict[str, list[Node]] | None = None  # by function, once one is needed
        self.kept: dict[str, list[Node | None]] | None = None  # in maps and objects, by plain names
        self.calls_by_name: dict[str, list[Node]] = {}
        for node, role in tree.of("call"):
            called = tree.callee(role)
            if called is not None and called.child_count == 0:
                self.calls_by_name.setdefault(text_of(called), []).append(node)

    def _once(
        self,
        node: Node | None,
        known: dict[int, list[Found] | None],
        find: Callable[[Node, Role], Iterable[Found]],
    ) -> list[Found]:
        """Find an expression's values: none inside of itself, or too deep inside of others."""
        if node is None:
            return []
        if (found := known.get(node.id)) is not None:
            return found
        self.walk.spend()
        if self.depth >= DEPTH_MAX or node.id in known:
            self.cuts += 1
            return []
        known[node.id] = None
        self.depth += 1
        cuts = self.cuts
        found = list(dict.fromkeys(find(node, self.tree.role(node))))
        self.depth -= 1
        del known[node.id]
        if self.cuts == cuts or self.depth <= DEPTH_MAX // 4:  # others may be cut short
            known[node.id] = found
        return found

    # Values

    def values(self, node: Node | None) -> list[Value]:
        """Return all values an expression may have."""
        found = self._once(node, self.folded, self._fold)
        return found if 0 < len(found) <= ALTERNATIVES_MAX else [UNKNOWN]

    def _fold(self, node: Node, role: Role) -> Iterable[Value]:
        if fold := _FOLDS.get(role.name):
            return map(_limit, fold(self, node, role))
        text = text_of(node)
        return [text if text.lstrip("-").isdigit() else UNKNOWN]

    def texts(self, node: Node | None) -> list[str]:
        """Return all texts an expression may have; a list counts as its words."""
        return [*map(transforms.as_text, self.values(node))]

    def lists(self, node: Node | None) -> list[tuple[str, ...]]:
        """Return all lists an expression may have; a text that is not known may be any list."""
        return [transforms.items(value) for value in self.values(node)]

    def _concat(self, node: Node, role: Role) -> Iterable[Value]:
        """Join left to right, however many there are: `a + b + c` is nested to the left."""
        pieces: list[Node | None] = []
        left: Node | None = node
        while (at := self.tree.role(left)).name == "concat":
            pieces.append(at.part("right"))
            left = at.part("left")
        found = self.values(left)
        for piece in reversed(pieces):
            found = [_append(head, tail) for head in found for tail in self.values(piece)]
            found = list(dict.fromkeys(map(_limit, found)))
            if len(found) > ALTERNATIVES_MAX:
                return [UNKNOWN]
        return found

    def _operator(self, node: Node, role: Role) -> Iterable[Value]:
        parts = [role.part(name) for name in _OPERANDS[role.name]]
        return self._apply(role.name, [self.values(part) for part in parts])

    def _list(self, node: Node, role: Role) -> Iterable[Value]:
        return product([self.items(child) for child in self.tree.children(node)])

    def items(self, node: Node | None) -> list[tuple[str, ...]]:
        """Return what one element adds to a list: itself, or for a spread all its items."""
        role = self.tree.role(node)
        if role.name == "spread":
            return self.lists(role.part("value"))
        if role.name == "cons":
            heads, tails = self.items(role.part("left")), self.lists(role.part("right"))
            return [head + tail for head in heads for tail in tails]
        if role.name in ("wrap", "pair"):
            return self.items(role.part("value"))
        return [(text,) for text in self.texts(node)]

    def _comprehension(self, node: Node, role: Role) -> Iterable[Value]:
        return [tuple(i for v in self.values(role.part("value")) for i in transforms.items(v))]

    def _words(self, node: Node, role: Role) -> Iterable[Value]:
        text = text_of(node)
        start = next((i for i, char in enumerate(text) if char in "([{<|/!"), -1)
        yield tuple(text[start + 1 : -1].split())

    def _inner(self, node: Node, role: Role) -> Iterable[Value]:
        return [value for inner in role.inner() for value in self.values(inner)]

    def _identifier(self, node: Node, role: Role) -> Iterable[Value]:
        return self._resolve_name(text_of(node), node)

    def _resolve_name(self, name: str, node: Node) -> Iterable[Value]:
        """Return the values of a name where a node uses it."""
        candidates = self.names.candidates(name, node)
        if not candidates:
            variable = name.lstrip("$").upper()  # a name that is bound by the run itself
            bound = (
                [transforms.environment(self.walk.state, variable)]
                if variable == BOUND_PATH
                else []
            )
            return bound or self._constants(node)
        current: list[Value] = []
        for binding in candidates:
            found = self._resolve_binding(binding, node)
            if binding.kind == "append":
                add = _as_path if binding.function == "push" else _append
                current = [add(a, b) for a in current or [""] for b in found]
            else:
                current = [*current, *found]
        return current

    def _resolve_binding(self, binding: Binding, use: Node) -> list[Value]:
        if binding.kind == "parameter":
            return self._collect_passed(binding, text_of(use))
        if binding.value is None:
            return [UNKNOWN]
        if binding.function:
            return list(self._collect_added(binding, binding.value))
        if binding.kind == "element":
            if binding.member:
                return value_flow.parts(self, binding) or [UNKNOWN]
            return value_flow.elements(self, binding.value) or [UNKNOWN]
        is_inside = binding.value.start_byte <= use.start_byte < binding.value.end_byte
        return [UNKNOWN] if binding.member or is_inside else self.values(binding.value)

    def _collect_added(self, binding: Binding, call: Node) -> Iterable[Value]:
        """Return what `list.append(x)` or `command.args([...])` adds, with lists opened up."""
        arguments = self.tree.arguments(call).positional[binding.position :]
        if binding.member == "format":
            return self._apply("format", [self.values(argument) for argument in arguments])
        if binding.member == "text":
            return combine([self.texts(argument) for argument in arguments])
        return product([self.lists(argument) for argument in arguments])

    def _collect_passed(self, binding: Binding, name: str) -> list[Value]:
        """Return the values that the program's own calls pass to a parameter.

        Found once for each parameter: functions that call one another would be followed along every
        path. A value that depends on itself is unknown.
        """
        key = (binding.function, binding.position, binding.member)
        if key not in self.passed:
            self.passed[key] = [UNKNOWN]
            found = value_flow.parameter_values(self, binding, name)
            by_name = self.tree.language.constants.get(name, UNKNOWN)  # `tmp_path` of pytest
            self.passed[key] = found or [by_name, *self._values_named(name)]
        return self.passed[key]

    def _constants(self, node: Node) -> Iterable[Value]:
        language = self.tree.language
        found = [language.lookup(language.constants, ref) for ref in self.references(node)]
        return [
            transforms.constant(self.walk.state, value) for value in found if value is not None
        ] or [UNKNOWN]

    def _member(self, node: Node, role: Role) -> Iterable[Value]:
        found = list(self._constants(node))
        if found != [UNKNOWN]:
            return found
        return self._element(role) if role.name == "index" else self._resolve_member(node, role)

    def _resolve_member(self, node: Node, role: Role) -> Iterable[Value]:
        name, base = text_of(role.part("name")), role.part("object")
        if own := self.names.attribute(node):
            found = [*self._resolve_name(own, node)]
            return [*found, *(self._values_named(name) if found == [UNKNOWN] else ())]
        if entry := value_flow.entry_values(self, base, [name]):
            return entry
        if self.tree.language.methods.get(name) == "identity":
            return self.values(base)  # a property: `entry.path`
        if "env" in map(self.operation, self.references(base)):
            return [transforms.environment(self.walk.state, name)]  # `process.env.NAME` and similar
        return [UNKNOWN, *self._values_named(name)]

    def _values_named(self, name: str) -> list[Value]:
        """Return what the program stores under a name in any map, object or option."""
        if self.kept is None:
            self.kept = {}
            for key, value in value_flow.find_named_nodes(self):
                self.kept.setdefault(_plain(key), []).append(value)
        return [value for node in self.kept.get(_plain(name), ()) for value in self.values(node)]

    def _element(self, role: Role) -> Iterable[Value]:
        base, key = role.part("object"), role.part("name")
        operations = [*map(self.operation, self.references(base))]
        if "env" in operations:
            return [transforms.environment(self.walk.state, text) for text in self.texts(key)]
        if "glob" in operations:
            return self._apply("glob", [self.values(key)])
        index = text_of(key).replace(" ", "")
        texts = [text.lstrip(":") for text in self.texts(key)]
        is_known = all(marks.is_known(text) and not text.isdigit() for text in texts)
        keys = texts if is_known else None
        if ":" not in index[1:] and (entry := value_flow.entry_values(self, base, keys)):
            return entry
        found = [_item(value, index) for value in self.values(base)]
        return [*found, *(kept for text in keys or () for kept in self._values_named(text))]

    def _call(self, node: Node, role: Role) -> Iterable[Value]:
        arguments = self.tree.arguments(node)
        for ref in self.callees(role):
            if operation := self.operation(ref):
                found = self._apply(operation, [self.values(n) for n in arguments.positional])
                return [*found, *self._results(arguments.get(*_DEFAULTS.get(operation, ())))]
        operation = self.tree.language.methods.get(self.tree.method(role))
        base = self.tree.receiver(role)
        if operation is None or base is None:
            return value_flow.return_values(self, role)
        if operation == "map" and arguments.positional:
            function = arguments.positional[-1]
            is_known = function.child_by_field_name("body") is not None
            texts = map(transforms.as_text, self._results(function) if is_known else ())
            return [tuple(texts) if is_known else marks.LIST]
        if operation == "item":
            found = value_flow.entry_values(self, base, self.texts(arguments.get(0)))
            return [*found, *self._results(arguments.get(1))]
        if operation == "default":
            return [*self.values(base), *self._results(arguments.get(-1))]
        rest = [self.values(n) for n in arguments.positional]
        return self._apply(operation, [self.values(base), *rest])

    def _results(self, node: Node | None) -> list[Value]:
        """Return the values of an expression, or of the function that it is."""
        body = node.child_by_field_name("body") if node is not None else None
        return self.values(body or node) if node is not None else []

    def operation(self, ref: str) -> str | None:
        return self.tree.language.lookup(self.tree.language.folds, ref)

    def _apply(self, operation: str, arguments: list[list[Value]]) -> list[Value]:
        """Apply an operation to every combination of its arguments' values."""
        if math.prod(map(len, arguments)) > ALTERNATIVES_MAX:
            return [UNKNOWN]
        combinations = itertools.product(*arguments)
        return [transforms.apply(operation, c, self.walk.state) for c in combinations]

    # References

    def references(self, node: Node | None) -> list[str]:
        """Return the dotted names an expression may stand for, as the sink tables spell them."""
        return self._once(node, self.referred, self._refer)[:ALTERNATIVES_MAX]

    def _refer(self, node: Node, role: Role) -> Iterable[str]:
        resolve = REFERENCES.get(role.name)
        return resolve(self, node, role) if resolve is not None else ()

    def callees(self, call: Role) -> list[str]:
        """Return the dotted names of the function that a call calls."""
        callee = call.part("callee")
        if callee is not None:
            return self.references(callee)
        name = call.part("name")
        if name is None:
            return []
        bases = self.references(call.part("object")) or ["?"]
        return [f"{base}.{text_of(name)}" for base in bases]


_OPERANDS = {"format": ("template", "value"), "path": ("left", "right"), "glob": ("pattern",)}
_FOLDS = {
    "string": string_texts, "text": string_texts, "atom": string_texts, "concat": Folder._concat,
    "format": Folder._operator, "path": Folder._operator, "glob": Folder._operator,
    "list": Folder._list, "arguments": Folder._list, "words": Folder._words,
    "wrap": Folder._inner, "choice": Folder._inner, "pipe": Folder._inner,
    "identifier": Folder._identifier, "member": Folder._member, "index": Folder._member,
    "call": Folder._call, "comprehension": Folder._comprehension,
}  # fmt: skip


# The place of the value that a function returns if there is no other.
_DEFAULTS = {"env": (1, "unset"), "default": (1,), "default_third": (2,)}


def _limit(value: Value) -> Value:
    """Return the value, unless it has grown beyond what any command line holds."""
    return value if len(value) <= VALUE_MAX else marks.LIST


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _item(value: Value, index: str) -> Value:
    """Return one item of a list, or a text turned around."""
    if isinstance(value, str):
        return transforms.reverse(value) if index == "::-1" else UNKNOWN
    place = int(index) if index.lstrip("-").isdigit() else len(value)
    return value[place] if -len(value) <= place < len(value) else UNKNOWN


def _append(before: Value, added: Value) -> Value:
    if isinstance(before, tuple):
        return before + transforms.items(added)
    return before + added if isinstance(added, str) else (*transforms.items(before), *added)


def _as_path(before: Value, added: Value) -> Value:
    """Return the value after Rust's `path.push(name)`; else after adding to a list or text."""
    if isinstance(before, tuple) or not before:
        return _append(before, added)
    name = added if isinstance(added, str) else "/".join(added)
    return before + name if len(name) == 1 else f"{before}/{name}"
