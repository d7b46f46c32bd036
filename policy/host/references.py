"""The dotted names that expressions stand for, as the sink tables spell them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from policy import marks
from policy.host.names import Binding
from policy.host.passing import entries, handed_source
from policy.host.tree import Role, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.fold import Folder


def _awaited(folder: Folder, binding: Binding) -> Iterable[str]:
    """The parameter of a callback given to `promise.then` is what was promised."""
    group = folder.tree.parent(binding.node)
    call = folder.tree.parent(group) if group is not None else None
    role = folder.tree.role(call) if call is not None else None
    if role is None or role.name != "call" or binding.position:
        return []
    method = folder.tree.method(role)
    if method is None or text_of(method) != "then":
        return []
    return folder.references(folder.tree.receiver(role))


def _passed(folder: Folder, binding: Binding) -> Iterable[str]:
    """What a parameter stands for, by who calls the function."""
    yield from _awaited(folder, binding)
    yield from _element(folder, binding)
    around = folder.tree.parent(binding.node)
    if around is not None and around.type == "decorated_definition" and not binding.position:
        for decorator in around.named_children[:-1]:  # `@task` calls it with a context
            yield from folder.references(decorator.named_child(0))


def _element(folder: Folder, binding: Binding) -> Iterable[str]:
    """What a nameless function is called with is what its call goes through: paths, for paths."""
    source, operations = handed_source(folder, binding) if not binding.function else (None, [])
    return folder.references(source) if {"each", "map", "filter", "walk"} & {*operations} else []


def _reference_identifier(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    name = text_of(node)
    candidates = folder.names.candidates(name, node)
    for binding in candidates:
        if binding.kind == "import":
            yield binding.dotted
        elif binding.kind == "value" and binding.value is not None:
            if binding.value.start_byte <= node.start_byte < binding.value.end_byte:
                continue
            base = folder.references(binding.value)
            yield from (f"{ref}.{binding.member}" for ref in base) if binding.member else base
            if not base and "callable_strings" in folder.tree.language.traits:
                yield from folder.texts(binding.value)
        elif binding.kind == "element" and binding.value is not None:
            yield from folder.references(binding.value)
        elif binding.kind == "parameter":
            yield from (
                f"{ref}.{binding.member}" if binding.member else ref
                for ref in _passed(folder, binding)
            )
    if not candidates:
        bare = name.lstrip("\\&").replace("\\", ".").replace("::", ".")
        yield bare
        yield from (f"{module}.{bare}" for module in folder.names.wildcards)


def _reference_entry(folder: Folder, role: Role, names: list[str]) -> Iterable[str]:
    """What stands under a key of a map, or at a place of a list, that is written out."""
    for literal in entries(folder, role.part("object")):
        for place, child in enumerate(folder.reader.children(literal)):
            pair = folder.tree.role(child)
            if pair is None or pair.name != "pair":
                key, value = str(place), child
            else:
                key = text_of(pair.part("name") or child).strip("\"': =>")
                value = pair.part("value") or child
            if key in names:
                yield from folder.references(value)


def _reference_member(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    base, name = role.part("object"), role.part("name")
    if name is None:
        return
    if role.name == "index":
        texts = [text for text in folder.texts(name) if marks.is_known(text)]
        yield from _reference_entry(folder, role, [text.lstrip(":") for text in texts])
    else:
        yield from _reference_entry(folder, role, [text_of(name)])
    if role.name == "index":
        names = [text for text in folder.texts(name) if marks.is_known(text)]
    else:
        names = [text_of(name)]
    refs = folder.references(base) or ["?"]
    language = folder.tree.language
    for ref in refs:
        yield from (language.member(ref, part.replace("::", ".")) for part in names)


def _reference_call(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    arguments = folder.reader.arguments(node)
    for ref in folder.callees(role):
        language = folder.tree.language
        operation = language.lookup(language.folds, ref)
        if operation == "module":
            for text in folder.texts(arguments.get(0)):
                if marks.is_known(text):
                    module = text.removeprefix("node:")
                    yield language.modules.get(module, module)
        elif operation == "getattr":
            names = [text for text in folder.texts(arguments.get(1)) if marks.is_known(text)]
            for base in folder.references(arguments.get(0)):
                yield from (f"{base}.{name.lstrip(':')}" for name in names)
        elif operation == "function":
            yield from (t.lstrip(":") for t in folder.texts(arguments.get(0)) if marks.is_known(t))
            yield from folder.references(arguments.get(0))
        else:
            yield language.lookup(language.returns, ref) or f"{ref}()"
    method = folder.tree.method(role)
    kept = folder.tree.language.methods.get(text_of(method)) if method is not None else None
    if kept in ("identity", "path", "expanduser"):
        yield from folder.references(folder.tree.receiver(role))


def _reference_path(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    return folder.references(role.part("left"))


def _reference_pipe(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    return folder.references(role.part("call"))


def _reference_wrap(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    return folder.references(role.part("value") or next(iter(node.named_children), None))


def _reference_choice(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    for option in role.parts.get("option", ()):
        yield from folder.references(option)


def _reference_atom(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    return [text_of(node)]


def _reference_concat(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    return _reference_string(folder, node, role)


def _reference_string(folder: Folder, node: Node, role: Role) -> Iterable[str]:
    if "callable_strings" in folder.tree.language.traits:
        yield from (text for text in folder.texts(node) if marks.is_known(text))


REFERENCES: dict[str, Callable[..., Iterable[str]]] = {
    "identifier": _reference_identifier, "member": _reference_member, "index": _reference_member,
    "call": _reference_call, "wrap": _reference_wrap, "pipe": _reference_pipe,
    "choice": _reference_choice, "path": _reference_path, "string": _reference_string,
    "concat": _reference_concat, "atom": _reference_atom,
}  # fmt: skip
