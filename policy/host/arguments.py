"""The arguments of calls: by position and by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from policy.host.tree import RoleTree, key_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

Argument = tuple[int | str, ...]  # a position, a name, or alternatives of both; `self` alone


def argument(spec: str) -> Argument:
    """`0`, `-1`, `name`, or alternatives of them as in `0/args`."""
    return tuple(int(key) if key.lstrip("-").isdigit() else key for key in spec.split("/"))


class CallArguments(NamedTuple):
    """The arguments of one call: by position, and by name."""

    positional: list[Node]
    named: dict[str, Node]

    def get(self, *keys: int | str) -> Node | None:
        """The argument at the first of these positions or names that is given."""
        for key in keys:
            if isinstance(key, str):
                if key in self.named:
                    return self.named[key]
            elif -len(self.positional) <= key < len(self.positional):
                return self.positional[key]
        return None


class ArgumentReader:
    """Takes the arguments of calls apart, the one that a pipe operator gives included."""

    def __init__(self, tree: RoleTree) -> None:
        self.tree = tree
        self.piped: dict[int, Node] = {}
        for _, role in tree.of("pipe"):
            call, value = role.part("call"), role.part("value")
            if call is not None and value is not None:
                self.piped[call.id] = value

    def children(self, node: Node) -> list[Node]:
        """The elements of an argument list or a literal, without comments and separators."""
        skipped = ("comment", "comma", "line_comment", "block_comment")
        return [child for child in node.named_children if child.type not in skipped]

    def arguments(self, call: Node) -> CallArguments:
        """The arguments of a call; options in a map are named arguments, too."""
        positional: list[Node] = [self.piped[call.id]] if call.id in self.piped else []
        named: dict[str, Node] = {}
        for group in self.tree.role(call).parts.get("arguments", ()):
            is_group = self.tree.role(group).name == "arguments"
            for argument in self.children(group) if is_group else [group]:
                self._add_argument(argument, positional, named)
        return CallArguments(positional, named)

    def _add_argument(self, node: Node, positional: list[Node], named: dict[str, Node]) -> None:
        role = self.tree.role(node)
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
        role = self.tree.role(node)
        if role.name in ("pair", "keywords"):
            self._add_argument(node, [], named)
        elif role.name == "identifier":
            named[text_of(node)] = node  # the shorthand {args}
