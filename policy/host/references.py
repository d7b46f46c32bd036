"""References: the dotted names of expressions, as the sink tables spell them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from policy import marks
from policy.host.names import Binding
from policy.host.tree import Role, text_of
from policy.host.value_flow import GOES_THROUGH, find_handed_source, nodes_passed, pairs

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.fold import Folder

# Functions and methods whose value is used as their argument, or called on.
_KEPT_BY_FUNCTIONS = ("identity", "list", "enumerate")
_KEPT_BY_METHODS = ("identity", "path", "expanduser")


def _find_promised(folder: Folder, binding: Binding) -> Iterable[str]:
    """Return the promise whose value a callback given to `promise.then` receives."""
    group = folder.tree.parent(binding.node)
    role = folder.tree.role(folder.tree.parent(group) if group is not None else None)
    if role.name != "call" or binding.position or folder.tree.method(role) != "then":
        return []
    return folder.references(folder.tree.receiver(role))


def _find_passed(folder: Folder, binding: Binding) -> Iterable[str]:
    """Return what a parameter stands for, by the callers of the function."""
    yield from _find_promised(folder, binding)
    if not binding.function:  # it is called with the elements of its call: paths, for paths
        source, operations = find_handed_source(folder, binding)
        if {"walk", *GOES_THROUGH} & operations:
            yield from folder.references(source)
    around = folder.tree.parent(binding.node)
    if around is not None and around.type == "decorated_definition" and not binding.position:
        for decorator in around.named_children[:-1]:  # `@task` calls it with a context
            yield from folder.references(next(iter(decorator.named_children), None))


def _reference_identifier(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    name = text_of(node)
    candidates = folder.names.candidates(name, node)
    for binding in candidates:
        if binding.kind == "import":
            yield binding.dotted
    yield from _find_named(folder, candidates, node, name)
    if all(binding.kind == "append" for binding in candidates):
        bare = name.lstrip("\\&").replace("\\", ".").replace("::", ".")
        yield folder.tree.language.modules.get(bare, bare)
        yield from (f"{module}.{bare}" for module in folder.names.wildcards)


def _find_named(folder: Folder, bindings: list[Binding], node: Node, name: str) -> Iterable[str]:
    """Return what a name stands for that is bound in the program."""
    for binding in bindings:
        if binding.kind == "element":
            yield from folder.references(binding.value)
        elif binding.kind == "value" and binding.value is not None:
            if binding.value.start_byte <= node.start_byte < binding.value.end_byte:
                continue
            base = folder.references(binding.value)
            yield from _members(folder, base, binding.member)
            if not base and "callable_strings" in folder.tree.language.traits:
                yield from folder.texts(binding.value)
        elif binding.kind == "parameter":
            yield from _members(folder, _find_passed(folder, binding), binding.member)
            if binding.function:
                for passed in nodes_passed(folder, binding, name):
                    yield from folder.references(passed)


def _members(folder: Folder, refs: Iterable[str], member: str) -> Iterable[str]:
    member_of = folder.tree.language.member
    return (member_of(ref, member) for ref in refs) if member else refs


def _list_known_texts(folder: Folder, node: Node | None) -> list[str]:
    return [text for text in folder.texts(node) if marks.is_known(text)]


def _reference_member(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    base, name = role.part("object"), role.part("name")
    if own := folder.names.attribute(node):
        yield from _find_named(folder, folder.names.candidates(own, node), node, own)
    names = _list_known_texts(folder, name) if role.name == "index" else [text_of(name)]
    keys = [name.lstrip(":") for name in names]
    for key, value in pairs(folder, base):
        if key in keys:
            yield from folder.references(value)
    language = folder.tree.language
    for ref in folder.references(base) or ["?"]:
        yield from (language.member(ref, part.replace("::", ".")) for part in names)


def _reference_call(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    arguments = folder.tree.arguments(node)
    first = arguments.get(0)
    language = folder.tree.language
    for ref in folder.callees(role):
        operation = language.lookup(language.folds, ref)
        if operation == "module":
            modules = [text.removeprefix("node:") for text in _list_known_texts(folder, first)]
            yield from (language.modules.get(module, module) for module in modules)
        elif operation == "getattr":
            names = _list_known_texts(folder, arguments.get(1))
            for base in folder.references(first):
                yield from (f"{base}.{name.lstrip(':')}" for name in names)
        elif operation == "function":
            yield from (text.lstrip(":") for text in _list_known_texts(folder, first))
            yield from folder.references(first)
        else:
            yield language.lookup(language.returns, ref) or f"{ref}()"
            if operation in _KEPT_BY_FUNCTIONS:
                yield from folder.references(first)
    if language.methods.get(folder.tree.method(role)) in _KEPT_BY_METHODS:
        yield from folder.references(folder.tree.receiver(role))


def _reference_inner(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    for inner in role.inner():
        yield from folder.references(inner)


def _reference_string(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    return (
        _list_known_texts(folder, node) if "callable_strings" in folder.tree.language.traits else []
    )


REFERENCES: dict[str, Callable[[Folder, Node, Role], Iterable[str]]] = {
    "identifier": _reference_identifier, "member": _reference_member, "index": _reference_member,
    "call": _reference_call, "wrap": _reference_inner, "pipe": _reference_inner,
    "choice": _reference_inner, "path": _reference_inner, "string": _reference_string,
    "concat": _reference_string, "atom": lambda folder, node, role: [text_of(node)],
}  # fmt: skip
