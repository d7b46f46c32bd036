"""Finds the calls that start programs, open files or run code, and hands on what they do.

What each does is said by the recipes of its language's table (`recipe.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from policy import marks
from policy.effects import encoded
from policy.host.arguments import Arguments
from policy.host.call import SETTERS, Call
from policy.host.fold import Folder
from policy.host.language import load_language
from policy.host.names import Binding, Names
from policy.host.strings import ALTERNATIVES_MAX, string_texts
from policy.host.transforms import Known
from policy.host.tree import Role, Tree, read_tree, text_of
from policy.shell.outputs import quoted
from policy.shell.state import State
from policy.wordlist import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.shell.frame import Frame
    from policy.shell.walk import Walker

_QUOTES = "\"'`"
_BUILDER_WORDS = word_set("arg args Add AddRange add addAll addArgument addArguments")
_SHOWN_MAX = 4000  # bytes of a call that its effects carry with them
_CHAIN_MAX = 32  # calls chained on one another that are looked at
_NO_ROLE = Role("", {})
_MACRO = re.compile(r"\b([a-z_][a-z0-9_]*)!(?=\s*\()")
_HOLES = re.compile("[\ue000-\ue01f]")


def screen(walker: Walker, language: str, code: str, state: State, frame: Frame) -> None:
    """Report every effect of a program that its language's tables know of."""
    known = load_language(language)
    if known is None:
        walker.report_unparsed(f"programs in {language} are not understood", frame)
        return
    code = _HOLES.sub("__unknown__", code)
    if "needs_tag" in known.traits and "<?" not in code:
        code = f"<?php {code}"
        frame = frame if frame.span else frame._replace(span=(0, len(encoded(walker.program))))
    if "macros_are_calls" in known.traits:
        code = _MACRO.sub(r"\1 ", code)  # the grammar sees only tokens inside a macro
    walker.budget.spend(1 + len(code) // 32)
    tree = read_tree(known, code)
    if tree is None:
        walker.report_unparsed("it is too large or nested too deep to be read", frame)
        return
    Screening(walker, tree, state, frame).run()


class Screening:
    """One program being screened."""

    def __init__(self, walker: Walker, tree: Tree, state: State, frame: Frame) -> None:
        self.walker = walker
        self.state = state
        self.frame = frame._replace(is_syntactic=False, is_visible=False)
        self.tree = tree
        self.names = Names(tree)
        known = Known(state.home, state.cwd, state.env)
        self.folder = Folder(tree, self.names, walker.budget, known)

    def run(self) -> None:
        """Every call and every command literal, in the order of the text."""
        for node, role in self.tree.ordered:
            self.walker.budget.spend()
            if role.name == "call":
                self._call(node, role)
            elif role.name == "shell":
                for text in string_texts(self.folder, node, role):
                    Call(self, "backticks", node, Arguments([], {})).run_text(text)
            elif role.name == "property":
                self._property(node, role)
            elif role.name == "reads":
                self._reads(node, role)
            elif role.name == "evaluates":
                self._evaluates(node, role)
            elif role.name == "loads":
                self._loads(node, role)

    def _loads(self, node: Node, role: Role) -> None:
        """A module that does something when it is imported, or a file read as one."""
        module = role.part("module")
        name = text_of(module).strip(_QUOTES) if module is not None else ""
        call = Call(self, f"import:{name}", node, Arguments([], {}))
        for recipe in self.tree.language.recipes(call.name):
            recipe.apply(call)
        call.load(name)

    def _evaluates(self, node: Node, role: Role) -> None:
        """An expression of the language itself that runs text as code, such as Perl's `eval`."""
        source = role.part("source")
        call = Call(self, node.type, node, Arguments([], {}))
        for text in [text_of(source)] if source else self.folder.texts(role.part("code")):
            call.run_code(self.tree.language.name, text)

    def _reads(self, node: Node, role: Role) -> None:
        """A statement of the language itself that reads a file, such as PHP's `include`."""
        for path in self.folder.texts(role.part("path")):
            Call(self, node.type, node, Arguments([], {})).use_file(path)

    def _call(self, node: Node, role: Role) -> None:
        language = self.tree.language
        for ref in self.folder.callees(role):
            arguments = self.folder.reader.arguments(node)
            recipes = language.recipes(ref)
            base, _, method = ref.rpartition(".")
            if not recipes and method in language.calls:
                recipes = language.recipes(base)
                skipped = language.calls[method]
                arguments = Arguments(arguments.positional[skipped:], arguments.named)
            if recipes:
                arguments.named.update(self.settings(node))
            for recipe in recipes:
                recipe.apply(Call(self, ref, node, arguments))

    def inside(self, node: Node, name: str) -> Frame:
        """The frame of what a node of the program runs."""
        start, end = node.start_byte, node.end_byte
        text = self.tree.source[start : min(end, start + _SHOWN_MAX)].decode("utf-8", "replace")
        return self.frame.inside(name, self.frame.span or (start, end), text)._replace(stdin=None)

    def written_out(self, items: Node) -> list[Node]:
        """The items of a list that is written out; anything else stands for its items."""
        role = self.tree.role(items)
        if role is not None and role.name == "list":
            return self.folder.reader.children(items)
        names = self.folder.callees(role) if role is not None and role.name == "call" else ()
        if "list" in map(self.folder.operation, names):
            return self.folder.reader.arguments(items).positional
        return [items]

    def is_map(self, node: Node) -> bool:
        role = self.tree.role(node)
        return role is not None and role.name in ("map", "keywords")

    def words_of(self, nodes: list[Node]) -> list[tuple[str, ...]]:
        """The argument lists that several arguments make, lists and spreads among them opened."""
        found: list[tuple[str, ...]] = [()]
        for node in nodes:
            role = self.tree.role(node)
            if role is not None and role.name in ("map", "keywords", "null"):
                continue
            if role is not None and role.name == "spread":
                options = self.folder._items(node)
            else:
                options = [v if isinstance(v, tuple) else (v,) for v in self.folder.values(node)]
            if len(found) * len(options) > ALTERNATIVES_MAX:
                options = [(marks.LIST,)]
            found = [head + option for head in found for option in options]
        return found

    def chained(self, node: Node) -> list[tuple[str, ...]]:
        """The words that calls chained on a builder, or made on the name it is bound to, add."""
        calls = [call for method, call in self._chain(node) if method in _BUILDER_WORDS]
        for binding in self._appended(node):
            if binding.function in _BUILDER_WORDS and binding.value is not None:
                calls.append(binding.value)
        added = [n for call in calls for n in self.folder.reader.arguments(call).positional]
        set_later = self.settings(node).get("Args")
        if set_later is None:
            return self.words_of(added)
        return [
            head + rest for head in self.words_of(added) for rest in self.folder.lists(set_later)
        ]

    def settings(self, node: Node) -> dict[str, Node]:
        """What is set on the object a call makes: by chained calls, or on its name later on."""
        found: dict[str, Node] = {}
        calls = [*self._chain(node)]
        calls += [(b.function, b.value) for b in self._appended(node) if b.value is not None]
        for method, call in calls:
            if method in SETTERS:
                positional = self.folder.reader.arguments(call).positional
                found.update(zip([method], positional, strict=False))
        name = self._bound_name(node)
        for _, role in self.tree.of("property") if name else ():
            base, key, value = role.part("object"), role.part("name"), role.part("value")
            if base is not None and key is not None and value is not None and text_of(base) == name:
                found[text_of(key)] = value
        return found

    def _chain(self, node: Node) -> Iterator[tuple[str, Node]]:
        """The methods called on what a call gives, one on the other."""
        for parent in self._ancestors(node):
            role = self.tree.role(parent)
            method = self.tree.method(role) if role is not None and role.name == "call" else None
            if method is not None:
                yield text_of(method), parent

    def _ancestors(self, node: Node) -> Iterator[Node]:
        parent = self.tree.parent(node)
        for _ in range(_CHAIN_MAX):
            role = self.tree.role(parent) if parent is not None else None
            if parent is None or role is None or role.name not in ("member", "call", "wrap"):
                return
            yield parent
            parent = self.tree.parent(parent)

    def _bound_name(self, node: Node) -> str:
        """The name that a call's value, or the chain on it, is assigned to."""
        parent = self.tree.parent([node, *self._ancestors(node)][-1])
        if parent is not None and self.tree.roles.get(parent.id, _NO_ROLE).name == "targets":
            parent = self.tree.parent(parent)
        role = self.tree.declarations.get(parent.id) if parent is not None else None
        target = role.part("target") if role is not None and role.name == "bind" else None
        return self.names.name_of(target) if target is not None else ""

    def _appended(self, node: Node) -> list[Binding]:
        name = self._bound_name(node)
        return [b for b in self.names.bindings.get(name, ()) if b.kind == "append"]

    def _property(self, node: Node, role: Role) -> None:
        """`info.FileName = "rm"; info.Arguments = "-rf x"`: judged where the name is set."""
        base, name, value = role.part("object"), role.part("name"), role.part("value")
        if base is None or name is None or value is None or text_of(name) != "FileName":
            return
        call = Call(self, "ProcessStartInfo", node, Arguments([], {}))
        rest = [
            other.part("value")
            for _, other in self.tree.of("property")
            if text_of(other.parts["name"][0]) == "Arguments"
            and text_of(other.parts["object"][0]) == text_of(base)
        ]
        for program in self.folder.texts(value):
            arguments = [text for item in rest for text in self.folder.texts(item)] or [""]
            for text in arguments:
                call.run_text(f"{quoted(program)} {text}")
