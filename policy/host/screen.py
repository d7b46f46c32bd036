"""Search for the calls that start programs, open files or run code, and for their effects.

Each effect is defined by the recipes of its language's table (`recipe.py`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from base.wordlist import word_set
from policy import marks
from policy.host import value_flow
from policy.host.call import SETTERS, HostCall
from policy.host.fold import Folder
from policy.host.language import load_language
from policy.host.tree import CallArguments, Role, RoleTree, read_tree, text_of
from policy.host.value_flow import product, string_texts
from policy.model import encode

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.shell.walk import Walk

_QUOTES = "\"'`"
_BUILDER_WORDS = word_set("arg args Add AddRange add addAll addArgument addArguments")
_SHOWN_MAX = 4000  # bytes of a call that its effects carry with them
_CHAIN_MAX = 32  # calls chained on one another that are looked at
_NO_WORDS = ("map", "keywords", "null")
_MACRO = re.compile(r"\b([a-z_][a-z0-9_]*)!(?=\s*\()")
_HOLES = re.compile("[\ue000-\ue01f]")


def screen(walk: Walk, language: str, code: str) -> None:
    """Report every effect of a program that is in its language's tables."""
    known = load_language(language)
    if known is None:
        walk.report_unparsed(f"programs in {language} are not understood")
        return
    code = _HOLES.sub("__unknown__", code)
    if "needs_tag" in known.traits and "<?" not in code:
        code = f"<?php {code}"
        span = walk.span or (0, len(encode(walk.findings.program)))
        walk = walk._replace(span=span)
    if "macros_are_calls" in known.traits:
        code = _MACRO.sub(r"\1 ", code)  # the grammar sees only tokens inside a macro
    walk.spend(1 + len(code) // 32)
    tree = read_tree(known, code)
    if tree is None:
        walk.report_unparsed("it is too large or nested too deep to be read")
        return
    Screening(walk, tree).run()


class Screening:
    """One program being screened."""

    def __init__(self, walk: Walk, tree: RoleTree) -> None:
        self.walk = walk._replace(is_syntactic=False, is_visible=False)
        self.tree = tree
        self.folder = Folder(self.walk.apart(), tree)

    def run(self) -> None:
        """Follow all calls and command literals, in the order of the text."""
        for node, role in self.tree.ordered:
            self.walk.spend()
            if screened := _SCREENED.get(role.name):
                screened(self, node, role)

    def _shell(self, node: Node, role: Role) -> None:
        """Run a command literal: Perl's, PHP's and Ruby's backticks."""
        for text in string_texts(self.folder, node, role):
            HostCall(self, "backticks", node, CallArguments([], {})).run_text(text)

    def _loads(self, node: Node, role: Role) -> None:
        """Load a module with effects at its import, or a file read as one."""
        name = text_of(role.part("module")).strip(_QUOTES)
        call = HostCall(self, f"import:{name}", node, CallArguments([], {}))
        for recipe in self.tree.language.recipes(call.name):
            recipe(call)
        call.load(name)

    def _evaluates(self, node: Node, role: Role) -> None:
        """Run text that is code of the language itself: the replacement of Perl's `s///e`."""
        call = HostCall(self, node.type, node, CallArguments([], {}))
        call.run_code(self.tree.language.name, text_of(role.part("source")))

    def _argv(self, node: Node, role: Role) -> None:
        """Read Perl's `@ARGV = (...)`: files that `<>` reads, and with `$^I` edits in place."""
        call = HostCall(self, "@ARGV", node, self.tree.arguments(node))
        for path in (path for words in self.words_of(call.arguments.positional) for path in words):
            call.use_file(path, is_write="$^I" in self.folder.names.bindings)

    def _embeds(self, node: Node, role: Role) -> None:
        """Read Go's `//go:embed a.txt b/*`: files that are built into the program."""
        for path in text_of(node).split()[1:]:
            HostCall(self, "go:embed", node, CallArguments([], {})).use_file(marks.mark_glob(path))

    def _call(self, node: Node, role: Role) -> None:
        language = self.tree.language
        for ref in self.folder.callees(role):
            arguments = self.tree.arguments(node)
            recipes = language.recipes(ref)
            base, _, method = ref.rpartition(".")
            if not recipes and method in language.calls:
                recipes = language.recipes(base)
                skipped = language.calls[method]
                arguments = CallArguments(arguments.positional[skipped:], arguments.named)
            if recipes:
                arguments.named.update(self.settings(node))
            for recipe in recipes:
                recipe(HostCall(self, ref, node, arguments))
        self._hand_over(node, role)

    def _hand_over(self, node: Node, role: Role) -> None:
        """Apply a known function given to a call over a list: `names.map(readFile)`."""
        if not value_flow.GOES_THROUGH & value_flow.operations_of(self.folder, role):
            return
        for function, others in value_flow.arguments_of(self.folder, node):
            source = others[0] if others else self.tree.receiver(role)
            for ref in self.folder.references(function):
                for item in self.list_items(source) if source is not None else ():
                    HostCall(self, ref, node, CallArguments([], {}), True).apply(ref, [item], {})

    def inside(self, node: Node, name: str) -> Walk:
        """Return the walk of the text that a node of the program runs."""
        start, end = node.start_byte, node.end_byte
        text = self.tree.source[start : min(end, start + _SHOWN_MAX)].decode("utf-8", "replace")
        return self.walk.inside(name, self.walk.span or (start, end), text)._replace(stdin=None)

    def list_items(self, items: Node) -> list[Node]:
        """Return the items of a list that is written out; anything else stands for its items."""
        for literal in value_flow.entries(self.folder, items):
            return self.tree.children(literal)
        role = self.tree.role(items)
        if role.name == "call" and "list" in map(self.folder.operation, self.folder.callees(role)):
            return self.tree.arguments(items).positional
        return [items]

    def is_map(self, node: Node) -> bool:
        return self.tree.role(node).name in ("map", "keywords")

    def words_of(self, nodes: list[Node]) -> list[tuple[str, ...]]:
        """Return the argument lists that several arguments make, with lists and spreads opened."""
        return product([self._words(n) for n in nodes if self.tree.role(n).name not in _NO_WORDS])

    def _words(self, node: Node) -> list[tuple[str, ...]]:
        if self.tree.role(node).name == "spread":
            return self.folder.items(node)
        return [v if isinstance(v, tuple) else (v,) for v in self.folder.values(node)]

    def chain_words(self, node: Node) -> list[tuple[str, ...]]:
        """Return the words that calls chained on a builder, or on its name, add."""
        calls = [call for method, call in self._later(node) if method in _BUILDER_WORDS]
        added = [n for call in calls for n in self.tree.arguments(call).positional]
        rest = self.settings(node).get("Args")
        rests = self.folder.lists(rest) if rest is not None else [()]
        return [head + tail for head in self.words_of(added) for tail in rests]

    def settings(self, node: Node) -> dict[str, Node]:
        """Return the settings of a call's object: by chained calls, or on its name later on."""
        found: dict[str, Node] = {}
        for method, call in self._later(node):
            if method in SETTERS:
                positional = self.tree.arguments(call).positional
                found.update(zip([method], positional, strict=False))
        return found | self.properties.get(self._find_bound_name(node), {})

    def _later(self, node: Node) -> Iterator[tuple[str, Node]]:
        """Yield the methods called on a call's result: in a chain, or on its name later on."""
        for parent in self._ancestors(node):
            role = self.tree.role(parent)
            if role.name == "call" and (method := self.tree.method(role)):
                yield method, parent
        for binding in self.folder.names.bindings.get(self._find_bound_name(node), ()):
            if binding.kind == "append" and binding.value is not None:
                yield binding.function, binding.value

    def _ancestors(self, node: Node) -> Iterator[Node]:
        parent = self.tree.parent(node)
        for _ in range(_CHAIN_MAX):
            if parent is None or self.tree.role(parent).name not in ("member", "call", "wrap"):
                return
            yield parent
            parent = self.tree.parent(parent)

    def _find_bound_name(self, node: Node) -> str:
        """Return the name that a call's value, or the chain on it, is assigned to."""
        parent = self.tree.parent([node, *self._ancestors(node)][-1])
        if parent is not None and self.tree.role(parent).name == "targets":
            parent = self.tree.parent(parent)
        role = self.tree.declarations.get(parent.id) if parent is not None else None
        target = role.part("target") if role is not None and role.name == "bind" else None
        return self.folder.names.name_of(target) if target is not None else ""

    @functools.cached_property
    def properties(self) -> dict[str, dict[str, Node]]:
        """Return the settings of objects, by the name of the object and of the setting."""
        found: dict[str, dict[str, Node]] = {}
        for _, role in self.tree.of("property"):
            if value := role.part("value"):
                set_there = found.setdefault(text_of(role.part("object")), {})
                set_there[text_of(role.part("name"))] = value
        return found

    def _property(self, node: Node, role: Role) -> None:
        """Judge `info.FileName = "rm"; info.Arguments = "-rf x"` where the name is set."""
        name, value = text_of(role.part("name")), role.part("value")
        if name == "FileName" and value is not None:
            set_there = self.properties.get(text_of(role.part("object")), {})
            call = HostCall(self, "ProcessStartInfo", node, CallArguments([], {}))
            call.apply(call.name, [], set_there | {name: value})


_SCREENED = {
    "call": Screening._call, "shell": Screening._shell, "property": Screening._property,
    "evaluates": Screening._evaluates, "loads": Screening._loads, "argv": Screening._argv,
    "embeds": Screening._embeds,
}  # fmt: skip
