"""Meanings of names where they are used: imports, assignments, parameters."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from base.wordlist import word_set
from policy.host.tree import Role, RoleTree, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SCOPE = re.compile(
    r"(if|else|elif|for|while|until|try|catch|except|rescue|case|switch|match|when|unless|loop"
    r"|function|method|lambda|closure|def|sub|do)(_|$)"
)

# Functions that methods call, if these are parameters: the object they are called on.
_OBJECTS = frozenset(("self", "cls", "&self", "&mut self", "this", "$this", "static"))
_DEFAULTS = ("value", "right", "default_value")  # the fields of a parameter's default
_CLASS = ("enum_declaration", "class_definition", "class_declaration", "class")
# A parameter that takes all arguments from its place on.
_REST = re.compile(r"\*\w|\.\.\.|params\s|\w+\s*\.\.\.|[\w.<>\[\]]+\s*\.\.\.\s*\w+")
REST = "..."
PART = "[]"  # the member that a place in a group takes of an element

Kind = Literal["import", "value", "element", "append", "default", "local", "parameter"]
_KINDS: dict[str, Kind] = {"append": "append", "loop": "element", "bind": "value", "value": "value"}

CANDIDATES_MAX = 64  # bindings of one name that are looked at for one use


class Binding(NamedTuple):
    """A way in which a name gets its meaning.

    Kind `element` is for a loop over the value, `append` for a value added to the name's. `default`
    is the value of a part which may be missing, `local` means that nothing is known.
    """

    node: Node
    kind: Kind
    dotted: str = ""  # of an import
    value: Node | None = None  # of an assignment, a loop or an addition
    member: str = ""  # set if only a part of the value is taken
    function: str = ""
    position: int = 0


class Names:
    """Bindings of a program, by name."""

    def __init__(self, tree: RoleTree) -> None:
        self.tree = tree
        self.bindings: dict[str, list[Binding]] = {}  # in the order of the text
        self.starts: dict[str, list[int]] = {}
        self.passed: dict[int, int] = {}  # how many arguments a Perl function has taken so far
        self.wildcards: list[str] = []
        for node, role in tree.ordered:
            if collect := _COLLECTORS.get(role.name):
                collect(self, node, role)

    def candidates(self, name: str, use: Node) -> list[Binding]:
        """Return the bindings that may hold where `name` is used.

        Those before it in the text count, back to the last one that is certain to have run. If none
        is before, any may count (a function that is called later).
        """
        bindings = self.bindings.get(name, [])
        chosen: list[Binding] = []
        for index in range(bisect.bisect_left(self.starts.get(name, []), use.start_byte), 0, -1):
            binding = bindings[index - 1]
            if binding.node.end_byte > use.start_byte and binding.kind != "element":
                continue  # a loop's variable is used inside of it
            if binding.kind == "parameter" and not _encloses(binding.node, use):
                continue
            chosen.append(binding)
            is_more = binding.kind in ("append", "default")
            if not is_more and not self._is_conditional(binding.node, use):
                break
            if len(chosen) >= CANDIDATES_MAX:
                break
        if chosen:
            return chosen[::-1]
        later = (b for b in bindings if b.node.start_byte > use.start_byte or b.kind == "parameter")
        return list(itertools.islice(later, CANDIDATES_MAX))

    def _is_conditional(self, node: Node, use: Node) -> bool:
        """Return whether something may skip the binding although it is before the use."""
        parent = self.tree.parent(node)
        while parent is not None and not _encloses(parent, use):
            if _SCOPE.search(parent.type):
                return True
            parent = self.tree.parent(parent)
        return False

    def add(self, name: str, binding: Binding) -> None:
        """Note a binding."""
        starts = self.starts.setdefault(name, [])
        index = bisect.bisect_right(starts, binding.node.start_byte)
        starts.insert(index, binding.node.start_byte)
        self.bindings.setdefault(name, []).insert(index, binding)

    def name_of(self, node: Node) -> str:
        """Return a target's name: its own text, or the identifier inside a declarator."""
        role = self.tree.role(node)
        if role.name == "identifier":
            return text_of(node)
        if role.name == "wrap":
            value = role.part("value")
            return self.name_of(value) if value else ""
        if role.name in ("member", "index", "call"):
            return ""
        for child in node.named_children:
            if name := self.name_of(child):
                return name
        return text_of(node) if node.child_count == 0 and node.is_named else ""

    def _collect_import(self, node: Node, role: Role) -> None:
        module = role.part("module")
        if module is None:
            return
        base = self.module_name(module)
        name, alias = role.part("name"), role.part("alias")
        dotted = _normalize(f"{base}.{text_of(name)}")
        default = text_of(name) if name is not None else _default_name(base)
        if "last_part_is_name" in self.tree.language.traits:
            default = default.rpartition(".")[2]
        self.add(text_of(alias) if alias else default, Binding(node, "import", dotted))

    def _collect_wildcard(self, node: Node, role: Role) -> None:
        if module := role.part("module"):
            self.wildcards.append(_normalize(self.module_name(module)))

    def module_name(self, node: Node) -> str:
        """Return a module as the sink tables spell it: no quotes, `node:` or leading separator."""
        text = text_of(node).strip("\"'`").removeprefix("node:")
        text = self.tree.language.modules.get(text, text)
        return _normalize(text)

    def _collect_bind(self, node: Node, role: Role) -> None:
        targets, values = role.parts.get("target", ()), role.parts.get("value", ())
        if role.name == "loop" and targets and values and self._is_group(targets[0]):
            for position, target in enumerate(targets[0].named_children):
                part = Binding(node, "element", value=values[0], member=PART, position=position)
                self.add(self.name_of(target), part)
            return
        if len(targets) == 1 and len(values) == 1:
            targets, values = self._pair(targets[0], values[0])
        kind = _KINDS[role.name]
        for target, value in itertools.zip_longest(targets, values[: len(targets)]):
            self._collect_defaults(target)
            if self._destructure(node, target, value):
                continue
            if name := self.name_of(target) or self.attribute(target):
                self.add(name, Binding(node, kind if value else "local", value=value))

    def _is_group(self, target: Node) -> bool:
        """Return whether a loop's target takes its value apart: `for a, b in pairs`."""
        is_group = self.tree.role(target).name in ("targets", "pattern", "list")
        return is_group or target.type in ("tuple_pattern", "array_pattern")

    def attribute(self, node: Node) -> str:
        """Return the name of an attribute of the object itself, as `this.command`; else empty."""
        role = self.tree.role(node)
        base = role.part("object")
        if role.name != "member" or base is None:
            return ""
        is_own = text_of(base) in _OBJECTS or self._is_class(base)
        sign = "$" if text_of(base) == "$this" else ""
        return sign + text_of(role.part("name")) if is_own else ""

    def _is_class(self, node: Node) -> bool:
        bindings = self.bindings.get(text_of(node), ()) if node.child_count == 0 else ()
        return any(b.kind == "local" and b.node.type.endswith(_CLASS) for b in bindings)

    def _pair(self, target: Node, value: Node) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        """Return `a, b = 1, 2` as targets with their values, if both sides are written out."""
        if self.tree.role(target).name != "targets":
            return (target,), (value,)
        targets, values = tuple(target.named_children), tuple(value.named_children)
        if "errors_are_values" in self.tree.language.traits and len(values) == 1:
            return targets, values
        return targets, values if len(targets) == len(values) else ()

    def _collect_defaults(self, pattern: Node) -> None:
        """Collect `{file = ".env"}`, `[, file = ".env"]`: values of names that are given none."""
        for child in pattern.named_children if pattern.type.endswith("_pattern") else ():
            if value := child.child_by_field_name("right"):
                self.add(self.name_of(child), Binding(child, "default", value=value))

    def _destructure(self, node: Node, target: Node, value: Node | None) -> bool:
        """Bind `{a, b: c} = value`; return whether the target is such a pattern."""
        if self.tree.role(target).name != "pattern" or value is None:
            return False
        for name, member in self._members(target):
            self.add(name, Binding(node, "value", value=value, member=member))
        return True

    def _members(self, pattern: Node) -> Iterator[tuple[str, str]]:
        """Yield the names a pattern binds, each with the member it is bound to."""
        for child in pattern.named_children:
            pair = self.tree.role(child)
            member, bound = child, child
            if pair.name == "pair":
                member, bound = pair.part("name") or child, pair.part("value") or child
            if name := self.name_of(bound):
                yield name, text_of(member)

    def _collect_function(self, node: Node, role: Role) -> None:
        name = role.part("name")
        function = text_of(name)
        if name is not None:
            self.add(function, Binding(name, "local"))
        parameters = role.part("parameters")
        children = parameters.named_children if parameters is not None else []
        if parameters is not None and not children:
            children = [parameters]  # `x => ...`
        kept = (c for c in children if c.type != "comma" and text_of(c) not in _OBJECTS)
        for position, child in enumerate(kept):
            default = next(filter(None, map(child.child_by_field_name, _DEFAULTS)), None)
            for parameter, member in self._parameter_names(child):
                bound = Binding(node, "parameter", "", default, member, function, position)
                self.add(parameter, bound)

    def _parameter_names(self, node: Node) -> Iterator[tuple[str, str]]:
        """Yield the names one parameter binds, each with the member it is bound to, if any."""
        node = node.child_by_field_name("left") or node.child_by_field_name("pattern") or node
        if self.tree.role(node).name == "pattern":
            self._collect_defaults(node)
            yield from self._members(node)
        elif name := self.name_of(node):
            yield name, REST if _REST.match(text_of(node)) else ""

    def _collect_passed(self, node: Node, role: Role) -> None:
        """Collect Perl's `my $x = shift` and `my ($x, $y) = @_`."""
        function = self.tree.parent(node)
        while function is not None and not function.type.startswith("subroutine"):
            function = self.tree.parent(function)
        name = function.child_by_field_name("name") if function is not None else None
        names = role.part("names")
        if function is None or name is None or names is None:
            return
        for child in names.named_children:
            if text_of(child) in ("$self", "$class"):
                continue
            position = self.passed.get(function.id, 0)
            self.passed[function.id] = position + 1
            binding = Binding(function, "parameter", function=text_of(name), position=position)
            self.add(text_of(child), binding)

    def _collect_local(self, node: Node, role: Role) -> None:
        name = role.part("name")
        if name is not None:
            self.add(self.name_of(name) or text_of(name), Binding(node, "local"))

    def _collect_mutation(self, node: Node, role: Role) -> None:
        """Collect `list.append(x)`, `command.arg("x")`, `push @list, x`: additions to a name."""
        method = self.tree.method(role)
        root = self.chain_root(self.tree.receiver(role)) if method in _MUTATORS else None
        if root is not None:
            self.add(text_of(root), Binding(node, "append", value=node, function=method))
        if how := self.tree.language.assigns.get(text_of(role.part("callee"))):
            self._collect_filling(node, role, how)

    def _collect_filling(self, node: Node, role: Role, how: str) -> None:
        """Collect `push @list, "x"`, `sprintf(buffer, "%s", x)`: the first argument is filled."""
        first = role.part("arguments")
        if first is not None and self.tree.role(first).name == "arguments":
            first = next(iter(first.named_children), None)
        if first is not None and (target := self.name_of(first)):
            kind, position, member = how.split()
            filled = Binding(node, _KINDS[kind], "", node, member, kind, int(position))
            self.add(target, filled)

    def _collect_use(self, node: Node, role: Role) -> None:
        """Collect Rust's `use a::{b as c, d::*}`."""
        for dotted, alias in _use_paths(text_of(role.part("tree"))):
            if alias == "*":
                self.wildcards.append(dotted)
            else:
                self.add(alias, Binding(node, "import", dotted))

    def chain_root(self, node: Node | None) -> Node | None:
        """Return the identifier at the start of `command.arg(a).arg(b)`; None if it is too far."""
        for _ in range(CANDIDATES_MAX):
            role = self.tree.role(node)
            if role.name == "identifier":
                return node
            if role.name == "call":
                node = self.tree.receiver(role)
            else:
                node = role.part("object") or role.part("value")
        return None


_MUTATORS = word_set(
    "append push push_back push_str extend add addAll Add AddRange arg args unshift insert "
    "emplace_back concat command current_dir addArgument addArguments"
)

_USE = re.compile(r"([\w:*]*)(?:\s+as\s+(\w+))?\s*([{},]|$)")


def _use_paths(text: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of a use tree, dotted, each with the name it gets (`*` for all of it)."""
    bases = [""]
    for path, alias, mark in _USE.findall(text):
        if mark == "{":
            bases.append(bases[-1] + path)
        elif path:
            dotted = _normalize(bases[-1] + path).removesuffix(".self")
            base, _, last = dotted.rpartition(".")
            yield (base, "*") if last == "*" else (dotted, alias or last)
        if mark == "}":
            bases = bases[:-1] or [""]


_COLLECTORS = {
    "import": Names._collect_import, "wildcard": Names._collect_wildcard,
    "bind": Names._collect_bind, "append": Names._collect_bind, "loop": Names._collect_bind,
    "function": Names._collect_function, "local": Names._collect_local,
    "passed": Names._collect_passed, "call": Names._collect_mutation, "use": Names._collect_use,
}  # fmt: skip


def _normalize(dotted: str) -> str:
    return dotted.replace("::", ".").replace("\\", ".").strip(".")


def _default_name(module: str) -> str:
    """Return the name of a module imported whole: Go's last path segment, else its own."""
    return module.rsplit("/", 1)[-1].split(".", 1)[0] if "/" in module else module


def _encloses(node: Node, use: Node) -> bool:
    return node.start_byte <= use.start_byte and use.end_byte <= node.end_byte
