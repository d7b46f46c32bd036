"""Values through loops, calls and maps: of their variables, parameters and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from policy import marks
from policy.host.names import REST, Binding
from policy.host.transforms import Value
from policy.host.tree import Role, key_of, text_of
from policy.shell.syntax import unescape

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.fold import Folder

ALTERNATIVES_MAX = 32
Joined = TypeVar("Joined", str, tuple[str, ...])


def string_texts(folder: Folder, node: Node, role: Role) -> list[str]:
    """Return all texts a literal may have."""
    roles = folder.tree.roles
    named = [child for child in node.children if child.id in roles]
    if not named:
        return [_unquote(text_of(node))]
    pieces: list[list[str]] = []
    end = named[0].start_byte
    if roles[named[0].id].name == "text" and named[0].prev_sibling is not None:
        end = named[0].prev_sibling.end_byte  # some grammars leave out leading blanks
    for child in named:
        if roles[child.id].name != "string":
            pieces.append([_blanks_between(node, end, child.start_byte)])
        pieces.append(_piece(folder, child))
        end = child.end_byte
    return combine(pieces)


def combine(pieces: Sequence[list[str]]) -> list[str]:
    """Return all texts that one alternative of each piece makes."""
    return _combine(pieces, "", marks.WORD)


def product(items: Sequence[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Return all lists that one alternative of each piece makes."""
    return _combine(items, (), (marks.WORD,))


def _combine(pieces: Sequence[list[Joined]], empty: Joined, unknown: Joined) -> list[Joined]:
    found = [empty]
    for options in pieces:
        is_many = len(found) * len(options) > ALTERNATIVES_MAX
        found = [head + option for head in found for option in ([unknown] if is_many else options)]
    return found


def _blanks_between(node: Node, start: int, end: int) -> str:
    """Return blanks inside a string that the grammar gives to none of its parts."""
    if start == end:
        return ""
    offset = node.start_byte
    gap = (node.text or b"")[start - offset : end - offset].decode("utf-8", "replace")
    return gap if gap.isspace() else ""


def _piece(folder: Folder, node: Node) -> list[str]:
    role = folder.tree.roles[node.id]
    if role.name == "escape":
        return [unescape(_plain_escapes(text_of(node)))]
    if role.name == "text":
        return _text_pieces(folder, node)
    if role.name == "interpolation":
        return folder.texts(role.part("value"))
    if role.name in ("string", "identifier", "member", "index", "call", "wrap"):
        return folder.texts(node)
    return [""]


def _text_pieces(folder: Folder, node: Node) -> list[str]:
    """Return literal text with escapes and interpolations between."""
    data, start = node.text or b"", node.start_byte
    pieces: list[list[str]] = []
    position = 0
    for child in node.children:
        if not folder.tree.role(child).name:
            continue
        pieces.append([data[position : child.start_byte - start].decode("utf-8", "replace")])
        pieces.append(_piece(folder, child))
        position = child.end_byte - start
    pieces.append([data[position:].decode("utf-8", "replace")])
    return combine(pieces)


def _plain_escapes(text: str) -> str:
    r"""Return `\u{1F600}` and `\x{41}` as bash writes them."""
    return "\\U" + text[3:-1] if text[1:3] in ("u{", "x{") else text


def _unquote(text: str) -> str:
    """Return a string literal that the grammar reads as one token, without its quotes."""
    for quote in ('"""', "'''", '"', "'", "`"):
        first = text.find(quote)
        if 0 <= first <= 4 and text.endswith(quote) and len(text) >= first + 2 * len(quote):
            inner = text[first + len(quote) : -len(quote)]
            return inner.strip("()") if text[:1] in "rR" else inner
    return text.lstrip(":")


CALLS_MAX = 16  # of one function that are looked at for a parameter's values


def entries(folder: Folder, node: Node | None) -> Iterator[Node]:
    """Yield the map or list that an expression is: written there, or bound to its name."""
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
    """Yield the keys and values of an expression's map or list; a list's keys are its places."""
    for literal in entries(folder, node):
        for place, child in enumerate(folder.tree.children(literal)):
            pair = folder.tree.role(child)
            is_pair = pair.name == "pair"
            yield (key_of(pair), pair.part("value")) if is_pair else (str(place), child)


def elements(folder: Folder, node: Node | None) -> list[Value]:
    """Return all values that a loop over an expression assigns to its variable."""
    found: list[Value] = []
    for literal in entries(folder, node):
        is_map = folder.tree.role(literal).name == "map"  # a loop gives its keys
        for child in folder.tree.children(literal):
            role = folder.tree.role(child)
            if role.name in ("spread", "cons"):
                return [item for items in folder.lists(node) for item in items]
            is_value = role.name == "pair" and not is_map
            found += folder.values(role.part("value") if is_value else child)
    return found or [item for items in folder.lists(node) for item in items]


def parts(folder: Folder, binding: Binding) -> list[Value]:
    """Return the values of one place of a group: `for root, folders, files in os.walk(x)`."""
    value, place = binding.value, binding.position
    while (role := folder.tree.role(value)).name == "wrap":
        value = role.part("value")
    if value is None or role.name != "call":
        rows = [row for one in entries(folder, value) for row in folder.tree.children(one)]
        cells = [cell for row in rows for cell in folder.tree.children(row)[place : place + 1]]
        return [found for cell in cells for found in folder.values(cell)]
    given = folder.tree.arguments(value).positional
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


def find_named_nodes(folder: Folder) -> Iterator[tuple[str, Node | None]]:
    """Yield what the program stores by names, and the defaults of its options: `{file: x}`,
    `add_argument("--env-file", default=x)`, `options: {env: {default: x}}`."""
    for _, role in folder.tree.of("pair"):
        name, value = key_of(role), role.part("value")
        yield name, value
        yield from ((name, inner) for key, inner in pairs(folder, value) if key == "default")
    for call, _ in folder.tree.of("call"):
        positional, named = folder.tree.arguments(call)
        if "default" in named:
            yield from ((text_of(key), named["default"]) for key in positional)


def entry_values(folder: Folder, node: Node | None, keys: list[str] | None) -> list[Value]:
    """Return the values of a map that is written out, under some keys or under any."""
    nodes = [value for key, value in pairs(folder, node) if keys is None or key in keys]
    return [found for value in nodes for found in folder.values(value)]


def parameter_values(folder: Folder, binding: Binding, name: str) -> list[Value]:
    """Return the values of a parameter."""
    if not binding.function:
        return _through(folder, *find_handed_source(folder, binding), binding.position)
    found = list(_values_from_others(folder, binding))
    if binding.member == REST:
        for call in _calls(folder, binding):
            rest = folder.tree.arguments(call).positional[binding.position :]
            found += product([folder.items(node) for node in rest])
        return found
    return found + [v for n in nodes_passed(folder, binding, name) for v in folder.values(n)]


def nodes_passed(folder: Folder, binding: Binding, name: str) -> list[Node]:
    """Return what calls of the program pass for a parameter; its default if one passes nothing."""
    keys = (name.lstrip("$"), binding.position)
    found = [folder.tree.arguments(call).get(*keys) for call in _calls(folder, binding)]
    if (not found or None in found) and not binding.member:
        found.append(binding.value)
    return [node for node in found if node is not None]


def _calls(folder: Folder, binding: Binding) -> list[Node]:
    """Return the calls of the function of a parameter; of a constructor those of its class."""
    name = _CONSTRUCTORS.get(binding.function, binding.function)
    around = None if name else folder.tree.parent(binding.node)
    while around is not None and not name:
        name = text_of(around.child_by_field_name("name")) if "class" in around.type else ""
        around = folder.tree.parent(around)
    calls = folder.calls_by_name.get(name, ())[:CALLS_MAX]
    return [call for call in calls if not _is_another(folder, call, binding)]


# The name they are called by; if it is empty, that of the class around them.
_CONSTRUCTORS = {"__init__": "", "constructor": "", "__construct": "", "initialize": "new"}


def _through(
    folder: Folder, source: Node | None, operations: set[str | None], position: int
) -> list[Value]:
    """Return the arguments of a nameless function: `items.forEach(item => ...)`."""
    if source is None or position > 1:
        return []
    if position:  # a map's value; a list's place
        return entry_values(folder, source, None) if "each" in operations else []
    if "walk" in operations:
        return folder.values(source)
    return elements(folder, source) if GOES_THROUGH & operations else []


GOES_THROUGH = frozenset(("each", "map", "filter"))
# A function by its name: `&method(:run)`, `Main::run`, `this.run`, `\&run`, `&run/1`.
_BY_NAME = re.compile(r"[&\\]*(?:[\w$]*(?:[.(:]|::|->):?)?(\w+)\)?(?:/\d)?")


def arguments_of(folder: Folder, call: Node) -> Iterator[tuple[Node, list[Node]]]:
    """Yield each argument of a call, with the others."""
    arguments = folder.tree.arguments(call)
    given = [*arguments.positional, *arguments.named.values()]
    for node in given:
        yield node, [other for other in given if other.id != node.id]


def _values_from_others(folder: Folder, binding: Binding) -> Iterator[Value]:
    """Yield the arguments that another function, which is given this one, calls it with."""
    if folder.given is None:
        folder.given = {}
        quotes = "'\"" if "callable_strings" in folder.tree.language.traits else ""
        for call, _ in folder.tree.of("call"):
            for function, others in arguments_of(folder, call):
                if name := _BY_NAME.fullmatch(text_of(function).strip(quotes)):
                    folder.given.setdefault(name[1], []).append((call, others))
    for call, others in folder.given.get(binding.function, ())[:CALLS_MAX]:
        source, operations = _over(folder, folder.tree.role(call), others)
        if {"walk", *GOES_THROUGH} & operations:
            yield from _through(folder, source, operations, binding.position)
        elif not _calls(folder, binding):  # `submit(run, "x")`, `Thread(target=run, args=("x",))`
            rest = folder.tree.arguments(call).get("args")
            given = folder.tree.children(rest) if rest is not None else others
            yield marks.WORD  # or with values that only the other one knows
            for node in given[binding.position : binding.position + 1]:
                yield from folder.values(node)


def find_handed_source(folder: Folder, binding: Binding) -> tuple[Node | None, set[str | None]]:
    """Return the values over which a call runs a nameless function, and the call's operations."""
    call = folder.tree.parent(binding.node)
    while call is not None and (role := folder.tree.role(call)).name not in ("call", ""):
        call = folder.tree.parent(call)
    if call is None or not role.name:
        return None, set()
    given = [n for n in folder.tree.arguments(call).positional if n.id != binding.node.id]
    return _over(folder, role, given)


def _over(folder: Folder, call: Role, given: list[Node]) -> tuple[Node | None, set[str | None]]:
    """Return the values that a call goes through, and the tables' entries for it."""
    return given[0] if given else folder.tree.receiver(call), operations_of(folder, call)


def operations_of(folder: Folder, call: Role) -> set[str | None]:
    """Return the tables' entries for the function and the method that a call calls."""
    known = folder.tree.language.methods.get(folder.tree.method(call))
    return {known, *map(folder.operation, folder.callees(call))}


def _is_another(folder: Folder, call: Node, binding: Binding) -> bool:
    """Return whether a call of that name is a module's function, or recursive."""
    base = folder.names.chain_root(folder.tree.receiver(folder.tree.role(call)))
    kinds = {b.kind for b in folder.names.bindings.get(text_of(base), ())}
    start, end = binding.node.start_byte, binding.node.end_byte
    return "import" in kinds or start <= call.start_byte < end


def return_values(folder: Folder, call: Role) -> list[Value]:
    """Return the values that a function of the program returns."""
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
