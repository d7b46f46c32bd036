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
    read A, write A      the file A is read or written
    open A MODE          the file A is opened as MODE says
    dotenv A             the file A is read, `.env` where it is not given
    apply F [REST]       the function F is called with the rest, or with the list REST
    apply_each F LIST    the function F is called with each element of LIST
    chdir A              relative paths are seen from A from here on

`A` is a position, a name, alternatives of both (`0/args`), or `self`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from policy import marks
from policy.host.fold import Arguments, Folder
from policy.host.names import Names
from policy.host.transforms import Known
from policy.host.tree import Language, Role, Tree, load_language, read_tree, text_of
from policy.shell.outputs import quoted
from policy.shell.state import State

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.shell.walk import Frame, Walker

_FOLDER_ARGUMENTS = ("cwd", "chdir", "cd", "Dir", "WorkingDirectory", "current_dir", "dir")
_INPUT_ARGUMENTS = ("input", "stdin_data", "stdin")
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
        frame = frame if frame.span else replace(frame, span=(0, len(walker.program.encode())))
    if "macros_are_calls" in known.traits:
        code = _MACRO.sub(r"\1 ", code)  # the grammar sees only tokens inside a macro
    walker.budget.spend(1 + len(code) // 32)
    _Screen(walker, known, code, state, frame).run()


class _Screen:
    """One program being screened."""

    def __init__(
        self, walker: Walker, language: Language, code: str, state: State, frame: Frame
    ) -> None:
        self.walker = walker
        self.state = state
        self.frame = replace(frame, is_syntactic=False, is_visible=False)
        self.tree: Tree = read_tree(language, code)
        self.names = Names(self.tree)
        known = Known(state.home, state.cwd, state.env)
        self.folder = Folder(self.tree, self.names, walker.budget, known)

    def run(self) -> None:
        """Every call and every command literal, in the order of the text."""
        for node, role in self.tree.ordered:
            self.walker.budget.spend()
            if role.name == "call":
                self._call(node, role)
            elif role.name == "shell":
                for text in self.folder._string(node, role):
                    self._run_text(str(text), self._inside(node, "backticks"))
            elif role.name == "property":
                self._property(node, role)
            elif role.name == "reads":
                self._reads(node, role)
            elif role.name == "evaluates":
                self._evaluates(node, role)

    def _evaluates(self, node: Node, role: Role) -> None:
        """An expression of the language itself that runs text as code, such as Perl's `eval`."""
        frame = self._inside(node, node.type)
        for text in self.folder.texts(role.part("code")):
            self.walker.run_code(self.tree.language.name, text, self.state.copy(), frame)

    def _reads(self, node: Node, role: Role) -> None:
        """A statement of the language itself that reads a file, such as PHP's `include`."""
        frame = self._inside(node, node.type)
        for path in self.folder.texts(role.part("path")):
            if not marks.is_only_hole(path):
                self.walker.report_file(path, self.state, frame, is_write=False)

    def _call(self, node: Node, role: Role) -> None:
        language = self.tree.language
        for ref in self.folder.callees(role):
            arguments = self.folder.arguments(node)
            recipe = language.lookup(language.sinks, ref)
            base, _, method = ref.rpartition(".")
            if recipe is None and method in language.calls:
                recipe = language.lookup(language.sinks, base)
                skipped = language.calls[method]
                arguments = Arguments(arguments.positional[skipped:], arguments.named)
            if recipe is not None:
                self._apply(recipe, ref, node, arguments)

    def _apply(self, recipe: str, name: str, node: Node, arguments: Arguments) -> None:
        """Do what each clause of a recipe says."""
        for clause in recipe.split(";"):
            kind, *words = clause.split()
            _RECIPES[kind](self, words, name, node, arguments)

    # Effects

    def _inside(self, node: Node, name: str, arguments: Arguments | None = None) -> Frame:
        span = self.frame.span or (node.start_byte, node.end_byte)
        frame = self.frame.inside(name, span, text_of(node))
        source = arguments and next(
            (arguments.named[key] for key in _INPUT_ARGUMENTS if key in arguments.named), None
        )
        if source is None:
            return replace(frame, stdin=None)
        texts = self.folder.texts(source)
        return replace(frame, stdin=texts[0] if len(texts) == 1 else marks.LIST)

    def _state(self, arguments: Arguments) -> State:
        """The state a started program sees: another folder where the call names one."""
        state = self.state.copy()
        for key in _FOLDER_ARGUMENTS:
            if key in arguments.named:
                folder = self.folder.texts(arguments.named[key])[0]
                state.cwd = folder if folder.startswith("/") else f"{state.cwd}/{folder}"
        return state

    def _run_text(self, text: str, frame: Frame, arguments: Arguments | None = None) -> None:
        state = self._state(arguments) if arguments else self.state.copy()
        self.walker.run_text(text, state, frame)

    def _run_list(self, argv: Iterable[str], frame: Frame, arguments: Arguments) -> None:
        words = tuple(argv)
        if words:
            self.walker.command(words, self._state(arguments), frame)

    def _target(self, spec: str, node: Node, arguments: Arguments) -> Node | None:
        """The node an argument spec names; `self` is what the method is called on."""
        if spec != "self":
            return arguments.get(spec)
        role = self.tree.role(node)
        return self.tree.receiver(role) if role is not None else None

    # Recipes

    def _shell(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        target = self._target(words[0], node, arguments)
        if target is None:
            return
        frame = self._inside(node, name, arguments)
        for text in self.folder.texts(target):
            self._run_text(text, frame, arguments)

    def _argv(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        target = self._target(words[0], node, arguments)
        if target is None:
            return
        frame = self._inside(node, name, arguments)
        for argv in self.folder.lists(target):
            self._run_list(argv, frame, arguments)

    def _auto(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        target = self._target(words[0], node, arguments)
        if target is None:
            return
        frame = self._inside(node, name, arguments)
        for value in self.folder.values(target):
            if isinstance(value, str):
                self._run_text(value, frame, arguments)
                continue
            self._run_list(value, frame, arguments)
            if "shell" in arguments.named and value:
                self._run_text(value[0], frame, arguments)

    def _program(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        target = self._target(words[0], node, arguments)
        if target is None:
            return
        frame = self._inside(node, name, arguments)
        rest = arguments.get(words[2]) if len(words) > 2 else None
        if rest is not None and self._is_map(rest):
            rest = None  # options where the list would be
        for program in self.folder.texts(target):
            if rest is None:
                self._run_program_alone(program, frame, arguments)
            elif words[1] == "list":
                for items in self.folder.lists(rest):
                    self._run_list((program, *items), frame, arguments)
                    if "shell" in arguments.named:
                        self._run_text(" ".join((program, *items)), frame, arguments)
            else:
                self._run_with_text(program, rest, frame, arguments)

    def _run_program_alone(self, program: str, frame: Frame, arguments: Arguments) -> None:
        if "shell" in arguments.named or " " in program:
            self._run_text(program, frame, arguments)
        else:
            self._run_list((program,), frame, arguments)

    def _run_with_text(self, program: str, rest: Node, frame: Frame, arguments: Arguments) -> None:
        for value in self.folder.values(rest):
            if isinstance(value, tuple):
                self._run_list((program, *value), frame, arguments)
            else:
                self._run_text(f"{quoted(program)} {value}", frame, arguments)

    def _varargs(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        first = int(words[0])
        nodes = list(arguments.positional[first:])
        if "skip" in words:
            nodes = nodes[:1] + nodes[2:]
        while nodes and "map" in words and self._is_map(nodes[0]):
            nodes.pop(0)  # an environment before the command
        if not nodes:
            return
        frame = self._inside(node, name, arguments)
        if "auto" in words and len(nodes) == 1:
            for value in self.folder.values(nodes[0]):
                if isinstance(value, str):
                    self._run_text(value, frame, arguments)
                else:
                    self._run_list(value, frame, arguments)
            return
        for argv in self._words_of(nodes):
            self._run_list(argv, frame, arguments)

    def _named(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """A function that is called like the program it stands for."""
        frame = self._inside(node, name, arguments)
        for argv in self._words_of(arguments.positional):
            self._run_list((name.rsplit(".", 1)[-1], *argv), frame, arguments)

    def _popen(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """Ruby's `IO.popen`: an environment first, then a text or a list."""
        nodes = [n for n in arguments.positional if not self._is_map(n)]
        if nodes:
            self._auto(words, name, node, Arguments(nodes, arguments.named))

    def _each(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """Every argument is a command of its own."""
        for argument in arguments.positional:
            self._auto(["0"], name, node, Arguments([argument], {}))

    def _is_map(self, node: Node) -> bool:
        role = self.tree.role(node)
        return role is not None and role.name in ("map", "keywords")

    def _words_of(self, nodes: list[Node]) -> list[tuple[str, ...]]:
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

    def _program_argv(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """`execv(program, argv)`: the list's first word is only what the program is told it is."""
        program, argv = arguments.get(words[0]), arguments.get(words[1])
        frame = self._inside(node, name, arguments)
        for path in self.folder.texts(program):
            for items in self.folder.lists(argv) if argv is not None else [()]:
                rest = items[1:] if items and not marks.splits(items[0]) else items
                self._run_list((path, *rest), frame, arguments)

    def _program_line(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """A command line in one text, or a program with a list."""
        if arguments.get(words[1]) is None:
            self._shell(words[:1], name, node, arguments)
        else:
            self._program([words[0], "list", words[1]], name, node, arguments)

    def _builder(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        frame = self._inside(node, name, arguments)
        added = self._chained(node)
        for head in self._words_of(arguments.positional[int(words[0]) :]):
            self._run_list((*head, *added), frame, arguments)

    def _chained(self, node: Node) -> tuple[str, ...]:
        """Words that calls chained on a builder, or made on the name it is bound to, add."""
        added: list[str] = []
        top = node
        while top.parent is not None:
            parent = top.parent
            role = self.tree.role(parent)
            if role is None or role.name not in ("member", "call", "wrap"):
                break
            if role.name == "call":
                method = self.tree.method(role)
                if method is not None and text_of(method) in ("arg", "args"):
                    added += self._added_words(parent)
            top = parent
        declarations = self.tree.declarations
        parent_role = declarations.get(top.parent.id) if top.parent is not None else None
        if parent_role is not None and parent_role.name == "bind":
            target = parent_role.part("target")
            name = self.names.name_of(target) if target is not None else ""
            for binding in self.names.bindings.get(name, ()):
                if binding.kind == "append" and binding.value is not None:
                    added += self._added_words(binding.value)
        return tuple(added)

    def _added_words(self, call: Node) -> list[str]:
        words = self._words_of(self.folder.arguments(call).positional)
        return list(words[0]) if len(words) == 1 else [marks.LIST]

    def _eval(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        target = self._target(words[1], node, arguments)
        if target is None or target.type in ("block", "do_block", "lambda", "function"):
            return
        frame = self._inside(node, name, arguments)
        for text in self.folder.texts(target):
            if words[0] == "shell":
                self._run_text(text, frame, arguments)
            else:
                self.walker.run_code(words[0], text, self.state.copy(), frame)

    def _file(self, is_write: bool) -> Callable[..., None]:
        def report(words: list[str], name: str, node: Node, arguments: Arguments) -> None:
            target = self._target(words[0], node, arguments)
            if target is None:
                return
            frame = self._inside(node, name)
            for path in self.folder.texts(target):
                if not marks.is_only_hole(path):
                    path = self.state.home + path[1:] if path.startswith("~/") else path
                    self.walker.report_file(path, self.state, frame, is_write=is_write)

        return report

    def _read(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        self._file(False)(words, name, node, arguments)

    def _write(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        self._file(True)(words, name, node, arguments)

    def _open(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        mode = arguments.get(words[1])
        texts = self.folder.texts(mode) if mode is not None else ["r"]
        is_write = any(set(text) & set("wax+>") for text in texts if marks.is_known(text))
        self._file(is_write)(words, name, node, arguments)

    def _dotenv(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """Loaders that read `.env` when they are not told otherwise."""
        if arguments.get(words[0]) is not None:
            self._file(False)(words, name, node, arguments)
        else:
            frame = self._inside(node, name)
            self.walker.report_file(".env", self.state, frame, is_write=False)

    def _perl_open(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """`open(F, "cmd |")`, `open(F, "-|", "cmd", args)`, `open(F, "<", path)`."""
        rest = arguments.positional[1:]
        if not rest:
            return
        frame = self._inside(node, name)
        modes = [text.strip() for text in self.folder.texts(rest[0])]
        for mode in modes:
            if len(rest) > 1 and mode in ("-|", "|-"):
                for argv in self._words_of(rest[1:]):
                    text = argv[0] if len(argv) == 1 else None
                    if text is not None:
                        self._run_text(text, frame)
                    else:
                        self._run_list(argv, frame, arguments)
            elif len(rest) > 1:
                for path in self.folder.texts(rest[1]):
                    is_write = bool(set(mode) & set(">+"))
                    self.walker.report_file(path, self.state, frame, is_write=is_write)
            elif mode.startswith("|") or mode.endswith("|"):
                self._run_text(mode.strip("|"), frame)
            else:
                path = mode.lstrip("<>+ ")
                self.walker.report_file(path, self.state, frame, is_write=mode[:1] in ">+")

    def _start(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """.NET's way: a file name with one text of arguments, or with a list of them."""
        program, rest = arguments.get(words[0]), arguments.get(words[1])
        if program is None or self._is_constructed(program):
            return
        frame = self._inside(node, name, arguments)
        for path in self.folder.texts(program):
            if rest is None:
                self._run_list((path, *self._chained(node)), frame, arguments)
            else:
                self._run_with_text(path, rest, frame, arguments)

    def _is_constructed(self, node: Node) -> bool:
        """`Process.Start(info)`: what the info holds is judged where it is filled."""
        return any("ProcessStartInfo" in ref for ref in self.folder.references(node))

    def _eval_parsed(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """R's `eval(parse(text = ...))`; an expression that is written out is code already."""
        target = arguments.get(words[0])
        role = self.tree.role(target) if target is not None else None
        if target is None or role is None or role.name != "call":
            return
        inner = self.folder.arguments(target)
        text = inner.get("text") or (inner.get("0") if self._is_parser(role) else None)
        if text is not None:
            frame = self._inside(node, name)
            for code in self.folder.texts(text):
                self.walker.run_code("r", code, self.state.copy(), frame)

    def _is_parser(self, role: Role) -> bool:
        return any(
            ref.endswith(("str2lang", "str2expression")) for ref in self.folder.callees(role)
        )

    def _apply_elixir(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """`apply(Module, :function, arguments)`."""
        language = self.tree.language
        group = arguments.get(words[2])
        if group is None:
            return
        for module in self.folder.references(arguments.get(words[0])):
            for function in self.folder.texts(arguments.get(words[1])):
                recipe = language.lookup(language.sinks, f"{module}.{function}")
                if recipe is not None:
                    positional = self.folder.children(group)
                    self._apply(recipe, f"{module}.{function}", node, Arguments(positional, {}))

    def _pipe_open(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """Ruby's `open("|cmd")`; anything else is a file."""
        target = arguments.get(words[0])
        if target is None:
            return
        frame = self._inside(node, name)
        for text in self.folder.texts(target):
            if text.startswith("|"):
                self._run_text(text[1:], frame)
            elif not marks.is_only_hole(text):
                self._open(words, name, node, arguments)

    def _port(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """Elixir's `Port.open({:spawn, text}, opts)` and `{:spawn_executable, path}, args: list`."""
        target = arguments.get(words[0])
        frame = self._inside(node, name)
        for value in self.folder.lists(target):
            if value[:1] == (":spawn",) or value[:1] == ("spawn",):
                self._run_text(" ".join(value[1:]), frame)
            elif len(value) > 1:
                rest = arguments.named.get("args")
                for items in self.folder.lists(rest) if rest is not None else [()]:
                    self._run_list((value[1], *items), frame, arguments)

    def _apply_function(
        self, words: list[str], name: str, node: Node, arguments: Arguments
    ) -> None:
        """The function in one argument is called with others."""
        language = self.tree.language
        target = self._target(words[0], node, arguments)
        refs = list(self.folder.references(target))
        for text in self.folder.texts(target):
            if marks.is_known(text):
                refs += [text.lstrip(":"), *self._qualified(text.lstrip(":"), node)]
        positional = self._passed_on(words, arguments)
        for ref in dict.fromkeys(refs):
            recipe = language.lookup(language.sinks, ref)
            if recipe is not None and not recipe.startswith("apply"):
                self._apply(recipe, ref, node, Arguments(positional, arguments.named))

    def _apply_each(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        """`map(function, items)`: the function is called with each item of a list."""
        items = arguments.get(words[1])
        recipes = [
            (ref, recipe)
            for ref in self.folder.references(arguments.get(words[0]))
            if (recipe := self.tree.language.lookup(self.tree.language.sinks, ref))
        ]
        if items is None or not recipes:
            return
        role = self.tree.role(items)
        known = role is not None and role.name in ("list", "call")
        for item in self.folder.children(items) if known else [items]:
            for ref, recipe in recipes:
                self._apply(recipe, ref, node, Arguments([item], {}))

    def _qualified(self, text: str, node: Node) -> list[str]:
        """`Kernel.send(:exec, ...)`: the name on what the method is called on."""
        return [f"{ref}.{text}" for ref in self.folder.references(self._target("self", node,
                                                                  Arguments([], {})))]  # fmt: skip

    def _passed_on(self, words: list[str], arguments: Arguments) -> list[Node]:
        if len(words) < 2:
            return (
                arguments.positional[int(words[0].split("/")[0]) + 1 :]
                if words[0][0].isdigit()
                else arguments.positional
            )
        group = arguments.get(words[1])
        if group is None:
            return []
        role = self.tree.role(group)
        if role is not None and role.name == "call":
            return self.folder.arguments(group).positional
        return self.folder.children(group)

    def _chdir(self, words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        for folder in self.folder.texts(arguments.get(words[0]))[:1]:
            if folder.startswith("/") or marks.has_hole(folder):
                self.state.cwd = folder
            else:
                self.state.cwd = f"{self.state.cwd}/{folder}"

    def _property(self, node: Node, role: Role) -> None:
        """`info.FileName = "rm"; info.Arguments = "-rf x"`: judged where the name is set."""
        base, name, value = role.part("object"), role.part("name"), role.part("value")
        if base is None or name is None or value is None or text_of(name) != "FileName":
            return
        frame = self._inside(node, "ProcessStartInfo")
        rest = [
            other.part("value")
            for _, other in self.tree.of("property")
            if text_of(other.parts["name"][0]) == "Arguments"
            and text_of(other.parts["object"][0]) == text_of(base)
        ]
        for program in self.folder.texts(value):
            arguments = [text for item in rest for text in self.folder.texts(item)] or [""]
            for text in arguments:
                self._run_text(f"{quoted(program)} {text}", frame)


_RECIPES: dict[str, Callable[..., None]] = {
    "shell": _Screen._shell,
    "argv": _Screen._argv,
    "auto": _Screen._auto,
    "program": _Screen._program,
    "varargs": _Screen._varargs,
    "program_argv": _Screen._program_argv,
    "program_line": _Screen._program_line,
    "named": _Screen._named,
    "popen": _Screen._popen,
    "each": _Screen._each,
    "builder": _Screen._builder,
    "eval": _Screen._eval,
    "read": _Screen._read,
    "write": _Screen._write,
    "open": _Screen._open,
    "dotenv": _Screen._dotenv,
    "perl_open": _Screen._perl_open,
    "pipe_open": _Screen._pipe_open,
    "port": _Screen._port,
    "start": _Screen._start,
    "eval_parsed": _Screen._eval_parsed,
    "apply_elixir": _Screen._apply_elixir,
    "apply": _Screen._apply_function,
    "apply_each": _Screen._apply_each,
    "chdir": _Screen._chdir,
}
