"""What loops, calls and maps hand on: the values of their variables, parameters and keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from policy.host.names import REST, Binding
from policy.host.strings import product
from policy.host.transforms import Value
from policy.host.tree import Role, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.fold import Folder

CALLS_MAX = 16  # of one function that are looked at for a parameter's values


def entries(folder: Folder, node: Node | None) -> Iterable[Node]:
    """The map or list that an expression is: written there, or bound to its name."""
    role = folder.tree.role(node) if node is not None else None
    if node is None or role is None:
        return
    if role.name in ("map", "list"):
        yield node
    elif role.name == "identifier":
        for binding in folder.names.candidates(text_of(node), node):
            value = binding.value if binding.kind == "value" and not binding.member else None
            value_role = folder.tree.role(value) if value is not None else None
            if value is not None and value_role is not None and value_role.name in ("map", "list"):
                yield value


def elements(folder: Folder, node: Node | None) -> list[Value]:
    """Every value that a loop over an expression gives its variable."""
    found: list[Value] = []
    for literal in entries(folder, node):
        for child in folder.reader.children(literal):
            role = folder.tree.role(child)
            if role is None or role.name in ("spread", "cons"):
                return [item for items in folder.lists(node) for item in items]
            is_map = folder.tree.roles[literal.id].name == "map"  # a loop gives its keys
            found += folder.values(
                role.part("value") if role.name == "pair" and not is_map else child
            )
    return found or [item for items in folder.lists(node) for item in items]


def parts(folder: Folder, binding: Binding) -> list[Value]:
    """What one place of a group is given: `for root, folders, files in os.walk(x)`."""
    value, place = binding.value, binding.position
    role = folder.tree.role(value) if value is not None else None
    while role is not None and role.name == "wrap" and role.part("value") is not None:
        value = role.part("value")
        role = folder.tree.role(value) if value is not None else None
    if value is None or role is None or role.name != "call":
        rows = [
            row for literal in entries(folder, value) for row in folder.reader.children(literal)
        ]
        cells = [folder.reader.children(row)[place : place + 1] for row in rows]
        return [found for cell in cells for node in cell for found in folder.values(node)]
    given = folder.reader.arguments(value).positional
    base, operations = folder.tree.receiver(role), _operations(folder, role)
    if "walk" in operations and place == 0:
        return folder.values(given[0] if given else base)
    if "enumerate" in operations and place == 1:
        return elements(folder, given[0] if given else base)
    if "zip" in operations:
        return elements(folder, given[place] if place < len(given) else None)
    if "items" in operations and place == 1:
        return entry_values(folder, given[0] if given else base, None)
    return []


def entry_values(folder: Folder, node: Node | None, keys: list[str] | None) -> list[Value]:
    """The values of a map that is written out, under some keys or under any."""
    found: list[Value] = []
    for literal in entries(folder, node):
        for place, child in enumerate(folder.reader.children(literal)):
            pair = folder.tree.role(child)
            is_pair = pair is not None and pair.name == "pair"
            key = pair.part("name") if pair is not None and is_pair else None
            value = pair.part("value") if pair is not None and is_pair else child
            name = text_of(key).strip("\"': =>") if key is not None else str(place)
            if keys is None or name in keys:
                found += folder.values(value)
    return found


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
            found.extend(product([folder._items(node) for node in rest]))
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
    while call is not None and (role := folder.tree.role(call)) and role.name != "call":
        call = folder.tree.parent(call)
    role = folder.tree.role(call) if call is not None else None
    if call is None or role is None:
        return None, []
    given = [n for n in folder.reader.arguments(call).positional if n.id != binding.node.id]
    return given[0] if given else folder.tree.receiver(role), _operations(folder, role)


def _operations(folder: Folder, call: Role) -> list[str | None]:
    """What the tables say of a called function, and of a method of that name."""
    method = folder.tree.method(call)
    known = folder.tree.language.methods.get(text_of(method)) if method is not None else None
    return [*map(folder.operation, folder.callees(call)), known]


def _is_another(folder: Folder, call: Node, binding: Binding) -> bool:
    """Whether a call of that name is a module's function, or one of the function in itfolder."""
    role = folder.tree.role(call)
    base = folder.names.chain_root(folder.tree.receiver(role)) if role is not None else None
    kinds = {b.kind for b in folder.names.bindings.get(text_of(base) if base else "", ())}
    start, end = binding.node.start_byte, binding.node.end_byte
    return "import" in kinds or start <= call.start_byte < end


def returned(folder: Folder, call: Role) -> list[Value]:
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
    callee = folder.tree.method(call) or call.part("callee")
    nodes = folder.returned.get(text_of(callee), []) if callee is not None else []
    return [value for node in nodes[:CALLS_MAX] for value in folder.values(node)]
