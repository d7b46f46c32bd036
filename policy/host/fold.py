"""Constants out of expressions: what a program hands to a call, as far as it is written down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from policy import marks
from policy.host import passing, transforms
from policy.host.arguments import ArgumentReader
from policy.host.names import Binding, Names
from policy.host.references import REFERENCES
from policy.host.strings import ALTERNATIVES_MAX, combined, product, string_texts
from policy.host.transforms import Value
from policy.host.tree import Role, Tree, text_of
from policy.shell.state import VALUE_MAX, Budget

if TYPE_CHECKING:
    from tree_sitter import Node


DEPTH_MAX = 24
UNKNOWN: Value = marks.WORD


class Folder:
    """Folds expressions of one program."""

    def __init__(self, tree: Tree, names: Names, budget: Budget, known: transforms.Known) -> None:
        self.tree = tree
        self.names = names
        self.budget = budget
        self.known = known
        self.depth = 0
        self.cuts = 0  # how often an expression was given up: it is too deep, or its own part
        self.folding: set[int] = set()
        self.referring: set[int] = set()
        self.passed: dict[tuple[str, int, str], list[Value]] = {}
        self.folded: dict[int, list[Value]] = {}
        self.referred: dict[int, list[str]] = {}
        self.returned: dict[str, list[Node]] | None = None  # by function, once one is asked for
        self.reader = ArgumentReader(tree)
        self.calls_by_name: dict[str, list[Node]] = {}
        for node, role in tree.of("call"):
            callee = tree.method(role) or role.part("callee")
            if callee is not None and callee.child_count == 0:
                self.calls_by_name.setdefault(text_of(callee), []).append(node)

    # Values

    def values(self, node: Node | None) -> list[Value]:
        """Every value an expression may have."""
        if node is None:
            return [UNKNOWN]
        if node.id in self.folded:
            return self.folded[node.id]
        self.budget.spend()
        if self.depth >= DEPTH_MAX or node.id in self.folding:
            self.cuts += 1
            return [UNKNOWN]
        self.depth += 1
        self.folding.add(node.id)
        cuts = self.cuts
        role = self.tree.role(node)
        fold = _FOLDS.get(role.name) if role is not None else None
        found = [self._plain(node)] if role is None or fold is None else fold(self, node, role)
        distinct = list(dict.fromkeys(map(_limited, found))) or [UNKNOWN]
        self.depth -= 1
        self.folding.remove(node.id)
        result = distinct if len(distinct) <= ALTERNATIVES_MAX else [UNKNOWN]
        if self.cuts == cuts or self.depth <= DEPTH_MAX // 4:  # others may be cut short
            self.folded[node.id] = result
        return result

    def texts(self, node: Node | None) -> list[str]:
        """Every text an expression may have; a list counts as its words."""
        return [value if isinstance(value, str) else " ".join(value) for value in self.values(node)]

    def lists(self, node: Node | None) -> list[tuple[str, ...]]:
        """Every list an expression may have; a text that is not known may be any list."""
        found: list[tuple[str, ...]] = []
        for value in self.values(node):
            if isinstance(value, tuple):
                found.append(value)
            else:
                found.append((marks.LIST,) if marks.is_only_hole(value) else (value,))
        return found

    def _plain(self, node: Node) -> Value:
        text = text_of(node)
        return text if text.lstrip("-").isdigit() else UNKNOWN

    def _concat(self, node: Node, role: Role) -> Iterable[Value]:
        """Left to right, however many there are: `a + b + c` is nested to the left."""
        pieces: list[Node | None] = []
        left: Node | None = node
        while left is not None and (at := self.tree.role(left)) and at.name == "concat":
            pieces.append(at.part("right"))
            left = at.part("left")
        found = self.values(left)
        for piece in reversed(pieces):
            found = [_appended(head, tail) for head in found for tail in self.values(piece)]
            found = list(dict.fromkeys(map(_limited, found)))
            if len(found) > ALTERNATIVES_MAX:
                return [UNKNOWN]
        return found

    def _format(self, node: Node, role: Role) -> Iterable[Value]:
        arguments = [self.values(role.part("template")), self.values(role.part("value"))]
        return self._applied("format", arguments)

    def _path(self, node: Node, role: Role) -> Iterable[Value]:
        arguments = [self.values(role.part("left")), self.values(role.part("right"))]
        return self._applied("path", arguments)

    def _list(self, node: Node, role: Role) -> Iterable[Value]:
        return product([self._items(child) for child in self.reader.children(node)])

    def _items(self, node: Node) -> list[tuple[str, ...]]:
        """What one element adds to a list: itself, or for a spread all of its own."""
        role = self.tree.role(node)
        if role is not None and role.name == "spread":
            return self.lists(role.part("value") or next(iter(node.named_children), None))
        if role is not None and role.name == "pair":
            return self._items_of_value(role.part("value"))
        if role is not None and role.name == "cons":
            heads, tails = self._items_of_value(role.part("left")), self.lists(role.part("right"))
            return [head + tail for head in heads for tail in tails]
        if role is not None and role.name == "wrap":
            inner = role.part("value") or next(iter(node.named_children), None)
            return self._items(inner) if inner is not None else [()]
        return self._items_of_value(node)

    def _items_of_value(self, node: Node | None) -> list[tuple[str, ...]]:
        return [(v,) if isinstance(v, str) else (" ".join(v),) for v in self.values(node)]

    def _words(self, node: Node, role: Role) -> Iterable[Value]:
        text = text_of(node)
        start = next((i for i, char in enumerate(text) if char in "([{<|/!"), -1)
        yield tuple(text[start + 1 : -1].split())

    def _glob(self, node: Node, role: Role) -> Iterable[Value]:
        return self._applied("glob", [self.values(role.part("pattern"))])

    def _wrap(self, node: Node, role: Role) -> Iterable[Value]:
        inner = role.part("value") or next(iter(node.named_children), None)
        return self.values(inner)

    def _pipe(self, node: Node, role: Role) -> Iterable[Value]:
        return self.values(role.part("call"))

    def _choice(self, node: Node, role: Role) -> Iterable[Value]:
        for option in role.parts.get("option", ()):
            yield from self.values(option)

    def _identifier(self, node: Node, role: Role) -> Iterable[Value]:
        name = text_of(node)
        candidates = self.names.candidates(name, node)
        if not candidates:
            yield from self._constants(node)
            return
        current: list[Value] = []
        for binding in candidates:
            found = self._bound(binding, node)
            if binding.kind == "append":
                current = [
                    _as_path(a, b)
                    if binding.function == "push" and a and isinstance(a, str)
                    else _appended(a, b)
                    for a in current or [""]
                    for b in found
                ]
            else:
                current = [*current, *found]
        yield from current

    def _bound(self, binding: Binding, use: Node) -> list[Value]:
        if binding.kind == "parameter":
            return self._passed(binding)
        if binding.function and binding.value is not None:
            return list(self._added(binding))
        if binding.kind == "element" and binding.value is not None:
            found = (
                passing.parts(self, binding)
                if binding.member
                else passing.elements(self, binding.value)
            )
            return found or [UNKNOWN]
        if binding.value is None or binding.member:
            return [UNKNOWN]
        if binding.value.start_byte <= use.start_byte < binding.value.end_byte:
            return [UNKNOWN]
        return self.values(binding.value)

    def _added(self, binding: Binding) -> Iterable[Value]:
        """What `list.append(x)` or `command.args([...])` adds: each argument, lists opened up."""
        assert binding.value is not None
        arguments = self.reader.arguments(binding.value).positional[binding.position :]
        if binding.member == "format":
            return self._applied("format", [self.values(argument) for argument in arguments])
        if binding.member == "text":
            return combined([self.texts(argument) for argument in arguments])
        return product([self.lists(argument) for argument in arguments])

    def _passed(self, binding: Binding) -> list[Value]:
        """A parameter has the values that the program's own calls pass.

        Found once for each parameter: functions that call one another would
        be followed along every path. What depends on itself is unknown.
        """
        key = (binding.function, binding.position, binding.member)
        if key not in self.passed:
            self.passed[key] = [UNKNOWN]
            self.passed[key] = passing.passed(self, binding) or [UNKNOWN]
        return self.passed[key]

    def _constants(self, node: Node) -> Iterable[Value]:
        language = self.tree.language
        found = [language.lookup(language.constants, ref) for ref in self.references(node)]
        return [self.known.constant(value) for value in found if value is not None] or [UNKNOWN]

    def _member(self, node: Node, role: Role) -> Iterable[Value]:
        found = list(self._constants(node))
        if found != [UNKNOWN]:
            return found
        if role.name == "index":
            return self._element(role)
        name = role.part("name")
        return self._named_member(node, role, name) if name is not None else [UNKNOWN]

    def _named_member(self, node: Node, role: Role, name: Node) -> Iterable[Value]:
        if self.names.attribute(node):
            return self._identifier(name, role)
        if entry := passing.entry_values(self, role.part("object"), [text_of(name)]):
            return entry
        if self.tree.language.methods.get(text_of(name)) == "identity":
            return self.values(role.part("object"))  # a property: `entry.path`
        return self._environment(node, role)

    def _environment(self, node: Node, role: Role) -> Iterable[Value]:
        """`process.env.NAME` and its kin."""
        base, name = role.part("object"), role.part("name")
        if base is None or name is None:
            return [UNKNOWN]
        for ref in self.references(base):
            if self.operation(ref) == "env":
                return [self.known.environment(text_of(name))]
        return [UNKNOWN]

    def _element(self, role: Role) -> Iterable[Value]:
        base, key = role.part("object"), role.part("name")
        if base is None or key is None:
            return [UNKNOWN]
        for ref in self.references(base):
            operation = self.operation(ref)
            if operation == "env":
                return [self.known.environment(text) for text in self.texts(key)]
            if operation == "glob":
                return self._applied(operation, [self.values(key)])
        index = text_of(key)
        texts = [text.lstrip(":") for text in self.texts(key)]
        is_known = all(marks.is_known(text) and not text.isdigit() for text in texts)
        if ":" not in index[1:] and (
            entry := passing.entry_values(self, base, texts if is_known else None)
        ):
            return entry
        found: list[Value] = []
        for value in self.values(base):
            if text_of(key).replace(" ", "") == "::-1" and isinstance(value, str):
                found.append(transforms.reverse(value))
            elif isinstance(value, tuple) and index.lstrip("-").isdigit():
                position = int(index)
                fits = -len(value) <= position < len(value)
                found.append(value[position] if fits else UNKNOWN)
            else:
                found.append(UNKNOWN)
        return found

    def _call(self, node: Node, role: Role) -> Iterable[Value]:
        arguments = self.reader.arguments(node)
        for ref in self.callees(role):
            if operation := self.operation(ref):
                return self._applied(operation, [self.values(n) for n in arguments.positional])
        name, base = self.tree.method(role), self.tree.receiver(role)
        operation = self.tree.language.methods.get(text_of(name)) if name is not None else None
        if operation is None or base is None:
            return passing.returned(self, role) or [UNKNOWN]
        if operation == "map" and arguments.positional:
            body = arguments.positional[-1].child_by_field_name("body")
            return [tuple(self.texts(body)) if body is not None else marks.LIST]
        if operation == "item":
            return passing.entry_values(self, base, self.texts(arguments.get(0))) or [UNKNOWN]
        rest = [self.values(n) for n in arguments.positional]
        return self._applied(operation, [self.values(base), *rest])

    def operation(self, ref: str) -> str | None:
        return self.tree.language.lookup(self.tree.language.folds, ref)

    def _applied(self, operation: str, arguments: list[list[Value]]) -> list[Value]:
        """An operation over every combination of its arguments' values."""
        combinations: list[tuple[Value, ...]] = [()]
        for options in arguments:
            combinations = [(*c, option) for c in combinations for option in options]
            if len(combinations) > ALTERNATIVES_MAX:
                return [UNKNOWN]
        return [transforms.apply(operation, c, self.known) for c in combinations]

    # References

    def references(self, node: Node | None) -> list[str]:
        """The dotted names an expression may stand for, as the sink tables spell them."""
        if node is None:
            return []
        if self.depth >= DEPTH_MAX:
            self.cuts += 1
            return []
        if node.id in self.referred:
            return self.referred[node.id]
        self.budget.spend()
        if node.id in self.referring:
            self.cuts += 1
            return []
        self.depth += 1
        self.referring.add(node.id)
        cuts = self.cuts
        role = self.tree.role(node)
        resolve = REFERENCES.get(role.name) if role is not None else None
        found = list(resolve(self, node, role)) if role is not None and resolve else []
        self.depth -= 1
        self.referring.remove(node.id)
        result = list(dict.fromkeys(found))[:ALTERNATIVES_MAX]
        if self.cuts == cuts or self.depth <= DEPTH_MAX // 4:
            self.referred[node.id] = result
        return result

    def callees(self, call: Role) -> list[str]:
        """The dotted names of what a call calls."""
        callee = call.part("callee")
        if callee is not None:
            return self.references(callee)
        name = call.part("name")
        if name is None:
            return []
        bases = self.references(call.part("object")) or ["?"]
        return [f"{base}.{text_of(name)}" for base in bases]


_FOLDS = {
    "string": string_texts, "text": string_texts, "atom": string_texts, "concat": Folder._concat,
    "format": Folder._format, "path": Folder._path, "list": Folder._list, "arguments": Folder._list,
    "words": Folder._words, "wrap": Folder._wrap, "glob": Folder._glob, "choice": Folder._choice,
    "pipe": Folder._pipe, "identifier": Folder._identifier, "member": Folder._member,
    "index": Folder._member, "call": Folder._call,
}  # fmt: skip


def _limited(value: Value) -> Value:
    """The value, unless it has grown beyond what any command line holds."""
    return value if len(value) <= VALUE_MAX else marks.LIST


def _as_list(value: Value) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return value
    return (marks.LIST,) if marks.is_only_hole(value) else (value,)


def _appended(before: Value, added: Value) -> Value:
    if isinstance(before, tuple):
        return before + _as_list(added)
    return before + added if isinstance(added, str) else (*_as_list(before), *added)


def _as_path(before: str, added: Value) -> Value:
    """Rust's `path.push(name)`."""
    name = added if isinstance(added, str) else "/".join(added)
    return before + name if len(name) == 1 else f"{before}/{name}"
