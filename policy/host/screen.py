"""Finds the calls that start programs, open files or run code, and hands on what they do.

A sink is a dotted name with a recipe, a few words that say how its arguments
become an effect:

    shell A              the text A is run by a shell
    argv A               the list A is a command
    auto A               a list is a command, a text is shell text
    program A [list B]   A with the words of the list B
    program A text B     A with a command line B
    varargs A [skip] [auto] [map]
                         every argument from A on is a word; `skip` leaves out argv[0], `auto`
                         takes one alone for shell text, `map` passes over an environment
    named A, popen A, each A
                         a function called like its program; Ruby's popen; several commands
    builder A            A, with what chained calls add to it
    program_argv A B     A, with the words of the list B behind its first
    program_line A B     the text A as a command line, or A with the list B
    eval LANGUAGE A      the text A is code
    tagged A             the template A is run by a shell; any other call is none of ours
    eval_text LANGUAGE A the same, where A may also be a function
    read A, write A      the file A is read or written
    open A MODE          the file A is opened as MODE says
    dotenv A             the file A is read, `.env` where it is not given
    apply F [REST]       the function F is called with the rest, or with the list REST
    apply_each F LIST    the function F is called with each element of LIST
    source LANGUAGE A    the file or address A is read and run as code
    read_or_shell A      the file A is read; a text with a space in it is a command
    chdir A              relative paths are seen from A from here on

`A` is a position, a name, alternatives of both (`0/args`), or `self`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from policy import marks
from policy.effects import encoded, program_name
from policy.host import other_recipes, starting
from policy.host.arguments import Arguments
from policy.host.fold import Folder
from policy.host.names import Binding, Names
from policy.host.strings import string_texts
from policy.host.transforms import Known
from policy.host.tree import Role, Tree, load_language, read_tree, text_of
from policy.shell.outputs import quoted
from policy.shell.state import State
from policy.wordlist import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.shell.frame import Frame
    from policy.shell.walk import Walker

_QUOTES = "\"'`"
_FOLDER_ARGUMENTS = ("cwd", "chdir", "cd", "Dir", "WorkingDirectory", "current_dir", "dir")
_INPUT_ARGUMENTS = ("input", "stdin_data", "stdin")
# A program that starts one of these without arguments does so to write commands to it.
_FED_SHELLS = word_set("sh bash zsh dash ksh")
_BUILDER_WORDS = word_set("arg args Add AddRange add addAll")
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
        walker.report_unparsed("it takes too long to parse", frame)
        return
    Screening(walker, tree, state, frame).run()


RECIPES = starting.RECIPES | other_recipes.RECIPES


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
                    self.run_text(text, self.inside(node, "backticks"))
            elif role.name == "property":
                self._property(node, role)
            elif role.name == "reads":
                self._reads(node, role)
            elif role.name == "evaluates":
                self._evaluates(node, role)
            elif role.name == "loads":
                self._loads(node, role)

    def _loads(self, node: Node, role: Role) -> None:
        """A module that does something when it is imported, such as `dotenv/config`."""
        module = role.part("module")
        name = f"import {text_of(module).strip(_QUOTES)}" if module is not None else ""
        if recipe := self.tree.language.sinks.get(name):
            self.apply_recipe(recipe, name, node, Arguments([], {}))

    def _evaluates(self, node: Node, role: Role) -> None:
        """An expression of the language itself that runs text as code, such as Perl's `eval`."""
        frame = self.inside(node, node.type)
        source = role.part("source")
        for text in [text_of(source)] if source else self.folder.texts(role.part("code")):
            self.walker.run_code(self.tree.language.name, text, self.state.copy(), frame)

    def _reads(self, node: Node, role: Role) -> None:
        """A statement of the language itself that reads a file, such as PHP's `include`."""
        frame = self.inside(node, node.type)
        for path in self.folder.texts(role.part("path")):
            if not marks.is_only_hole(path):
                self.walker.report_file(path, self.state, frame, is_write=False)

    def _call(self, node: Node, role: Role) -> None:
        language = self.tree.language
        for ref in self.folder.callees(role):
            arguments = self.folder.reader.arguments(node)
            recipe = language.lookup(language.sinks, ref)
            base, _, method = ref.rpartition(".")
            if recipe is None and method in language.calls:
                recipe = language.lookup(language.sinks, base)
                skipped = language.calls[method]
                arguments = Arguments(arguments.positional[skipped:], arguments.named)
            if recipe is not None:
                arguments.named.update(self.settings(node))
                self.apply_recipe(recipe, ref, node, arguments)

    def apply_recipe(self, recipe: str, name: str, node: Node, arguments: Arguments) -> None:
        """Do what each clause of a recipe says."""
        for clause in recipe.split(";"):
            kind, *words = clause.split()
            RECIPES[kind](self, words, name, node, arguments)

    # Effects

    def inside(self, node: Node, name: str, arguments: Arguments | None = None) -> Frame:
        span = self.frame.span or (node.start_byte, node.end_byte)
        frame = self.frame.inside(name, span, text_of(node))
        named = arguments.named if arguments is not None else {}
        source = next((named[key] for key in _INPUT_ARGUMENTS if key in named), None)
        if source is None:
            return frame._replace(stdin=None)
        texts = self.folder.texts(source)
        return frame._replace(stdin=texts[0] if len(texts) == 1 else marks.LIST)

    def child_state(self, arguments: Arguments) -> State:
        """The state a started program sees: another folder where the call names one."""
        state = self.state.copy()
        for key in _FOLDER_ARGUMENTS:
            if key in arguments.named:
                folder = self.folder.texts(arguments.named[key])[0]
                state.cwd = folder if folder.startswith("/") else f"{state.cwd}/{folder}"
        return state

    def run_text(self, text: str, frame: Frame, arguments: Arguments | None = None) -> None:
        if frame.stdin is None and program_name(text.strip()) in _FED_SHELLS:
            frame = frame._replace(stdin=marks.LIST)
        state = self.child_state(arguments) if arguments else self.state.copy()
        self.walker.run_text(text, state, frame)

    def run_list(self, argv: Iterable[str], frame: Frame, arguments: Arguments) -> None:
        words = tuple(argv)
        if len(words) == 1 and frame.stdin is None and program_name(words[0]) in _FED_SHELLS:
            frame = frame._replace(stdin=marks.LIST)
        if words and marks.is_only_hole(words[0]):
            self.walker.report_opaque("a program that is not known before it runs", words, frame)
        if words:
            self.walker.command(words, self.child_state(arguments), frame)

    def target(self, spec: str, node: Node, arguments: Arguments) -> Node | None:
        """The node an argument spec names; `self` is what the method is called on."""
        if spec != "self":
            return arguments.get(spec)
        role = self.tree.role(node)
        return self.tree.receiver(role) if role is not None else None

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
            found = [head + option for head in found for option in options][:8]
        return found

    def chained(self, node: Node) -> tuple[str, ...]:
        """Words that calls chained on a builder, or made on the name it is bound to, add."""
        added: list[str] = []
        for method, call in self._chain(node):
            if method in ("arg", "args"):
                added += self._added_words(call)
        for binding in self._appended(node):
            if binding.function in _BUILDER_WORDS and binding.value is not None:
                added += self._added_words(binding.value)
        set_later = self.settings(node).get("Args")
        for value in [set_later] if set_later is not None else ():
            added += next(iter(self.folder.lists(value)), ())
        return tuple(added)

    def settings(self, node: Node) -> dict[str, Node]:
        """What is set on the object a call makes: by chained calls, or on its name later on."""
        found: dict[str, Node] = {}
        calls = [*self._chain(node)]
        calls += [(b.function, b.value) for b in self._appended(node) if b.value is not None]
        for method, call in calls:
            if method in _FOLDER_ARGUMENTS:
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
        parent = node.parent
        for _ in range(_CHAIN_MAX):
            role = self.tree.role(parent) if parent is not None else None
            if parent is None or role is None or role.name not in ("member", "call", "wrap"):
                return
            yield parent
            parent = parent.parent

    def _bound_name(self, node: Node) -> str:
        """The name that a call's value, or the chain on it, is assigned to."""
        parent = [node, *self._ancestors(node)][-1].parent
        if parent is not None and self.tree.roles.get(parent.id, _NO_ROLE).name == "targets":
            parent = parent.parent
        role = self.tree.declarations.get(parent.id) if parent is not None else None
        target = role.part("target") if role is not None and role.name == "bind" else None
        return self.names.name_of(target) if target is not None else ""

    def _appended(self, node: Node) -> list[Binding]:
        name = self._bound_name(node)
        return [b for b in self.names.bindings.get(name, ()) if b.kind == "append"]

    def _added_words(self, call: Node) -> list[str]:
        words = self.words_of(self.folder.reader.arguments(call).positional)
        return list(words[0]) if len(words) == 1 else [marks.LIST]

    def _property(self, node: Node, role: Role) -> None:
        """`info.FileName = "rm"; info.Arguments = "-rf x"`: judged where the name is set."""
        base, name, value = role.part("object"), role.part("name"), role.part("value")
        if base is None or name is None or value is None or text_of(name) != "FileName":
            return
        frame = self.inside(node, "ProcessStartInfo")
        rest = [
            other.part("value")
            for _, other in self.tree.of("property")
            if text_of(other.parts["name"][0]) == "Arguments"
            and text_of(other.parts["object"][0]) == text_of(base)
        ]
        for program in self.folder.texts(value):
            arguments = [text for item in rest for text in self.folder.texts(item)] or [""]
            for text in arguments:
                self.run_text(f"{quoted(program)} {text}", frame)
