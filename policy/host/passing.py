"""What loops, calls and maps hand on: the values of their variables, parameters and keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from policy.host.names import REST, Binding
from policy.host.strings import product
from policy.host.transforms import Value
from policy.host.tree import Role, key_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.fold import Folder

CALLS_MAX = 16  # of one function that are looked at for a parameter's values


def entries(folder: Folder, node: Node | None) -> Iterator[Node]:
    """The map or list that an expression is: written there, or bound to its name."""
    role = folder.tree.role(node)
    if node is None:
        return
    if role.name in ("map", "list"):
        yield node
    elif role.name == "identifier":
        for binding in folder.names.candidates(text_of(node), node):
            value = binding.value if binding.kind == "value" and not binding.member else None
            if value is not None and folder.tree.role(value).name in ("map", "list"):
                yield value


def pairs(folder: Folder, node: Node | None) -> Iterator[tuple[str, Node | None]]:
    """The keys and values of a map or list that an expression is; a list's keys are its places."""
    for literal in entries(folder, node):
        for place, child in enumerate(folder.reader.children(literal)):
            pair = folder.tree.role(child)
            is_pair = pair.name == "pair"
            yield (key_of(pair), pair.part("value")) if is_pair else (str(place), child)


def elements(folder: Folder, node: Node | None) -> list[Value]:
    """Every value that a loop over an expression gives its variable."""
    found: list[Value] = []
    for literal in entries(folder, node):
        is_map = folder.tree.role(literal).name == "map"  # a loop gives its keys
        for child in folder.reader.children(literal):
            role = folder.tree.role(child)
            if role.name in ("spread", "cons"):
                return [item for items in folder.lists(node) for item in items]
            is_value = role.name == "pair" and not is_map
            found += folder.values(role.part("value") if is_value else child)
    return found or [item for items in folder.lists(node) for item in items]


def parts(folder: Folder, binding: Binding) -> list[Value]:
    """What one place of a group is given: `for root, folders, files in os.walk(x)`."""
    value, place = binding.value, binding.position
    while (role := folder.tree.role(value)).name == "wrap":
        value = role.part("value")
    if value is None or role.name != "call":
        rows = [
            row for literal in entries(folder, value) for row in folder.reader.children(literal)
        ]
        cells = [cell for row in rows for cell in folder.reader.children(row)[place : place + 1]]
        return [found for cell in cells for found in folder.values(cell)]
    given = folder.reader.arguments(value).positional
    source, operations = _over(folder, role, given)
    if "walk" in operations and place == 0:
        return folder.values(source)
    if "enumerate" in operations and place == 1:
        return elements(folder, source)
    if "zip" in operations:
        return elements(folder, given[place] if place < len(given) else None)
    if "items" in operations and place == 1:
        return entry_values(folder, source, None)
    return []


def entry_values(folder: Folder, node: Node | None, keys: list[str] | None) -> list[Value]:
    """The values of a map that is written out, under some keys or under any."""
    nodes = [value for key, value in pairs(folder, node) if keys is None or key in keys]
    return [found for value in nodes for found in folder.values(value)]


def passed(folder: Folder, binding: Binding) -> list[Value]:
    if not binding.function:
        return _handed(folder, binding)
    found: list[Value] = []
    calls = folder.calls_by_name.get(binding.function, ())[:CALLS_MAX]
    calls = [call for call in calls if not _is_another(folder, call, binding)]
    missing = not calls
    for call in calls:
        arguments = folder.reader.arguments(call)
        argument = arguments.get(binding.position)
        if binding.member == REST:
            rest = arguments.positional[binding.position :]
            found.extend(product([folder.items(node) for node in rest]))
        elif argument is not None:
            found.extend(folder.values(argument))
        else:
            missing = True
    is_default = missing and binding.value is not None and not binding.member
    return [*found, *folder.values(binding.value)] if is_default else found


def _handed(folder: Folder, binding: Binding) -> list[Value]:
    """What a nameless function is called with: `items.forEach(item => ...)`."""
    source, operations = handed_source(folder, binding)
    if source is None or binding.position > 1:
        return []
    if binding.position:  # a map's value; a list's place
        return entry_values(folder, source, None) if "each" in operations else []
    if "walk" in operations:
        return folder.values(source)
    return elements(folder, source) if {"each", "map", "filter"} & set(operations) else []


def handed_source(folder: Folder, binding: Binding) -> tuple[Node | None, list[str | None]]:
    """What a call that is given a nameless function takes it over, and what it does."""
    call = folder.tree.parent(binding.node)
    while call is not None and (role := folder.tree.role(call)).name not in ("call", ""):
        call = folder.tree.parent(call)
    if call is None or not role.name:
        return None, []
    given = [n for n in folder.reader.arguments(call).positional if n.id != binding.node.id]
    return _over(folder, role, given)


def _over(folder: Folder, call: Role, given: list[Node]) -> tuple[Node | None, list[str | None]]:
    """What a call goes through, and what the tables say of its function and its method."""
    known = folder.tree.language.methods.get(folder.tree.method(call))
    source = given[0] if given else folder.tree.receiver(call)
    return source, [*map(folder.operation, folder.callees(call)), known]


def _is_another(folder: Folder, call: Node, binding: Binding) -> bool:
    """Whether a call of that name is a module's function, or one of the function in itself."""
    base = folder.names.chain_root(folder.tree.receiver(folder.tree.role(call)))
    kinds = {b.kind for b in folder.names.bindings.get(text_of(base), ())}
    start, end = binding.node.start_byte, binding.node.end_byte
    return "import" in kinds or start <= call.start_byte < end


def return_values(folder: Folder, call: Role) -> list[Value]:
    """What a function of the program gives back."""
    if folder.returned is None:
        folder.returned = {}
        for node, role in folder.tree.of("returns"):
            value, function = role.part("value"), folder.tree.parent(node)
            while function is not None and folder.tree.function(function) is None:
                function = folder.tree.parent(function)
            name = folder.tree.function(function) if function is not None else None
            if name and value is not None:
                folder.returned.setdefault(name, []).append(value)
    nodes = folder.returned.get(text_of(folder.tree.callee(call)), [])
    return [value for node in nodes[:CALLS_MAX] for value in folder.values(node)]
