"""Walk through a program with a state, reporting every effect it would have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from policy import marks
from policy.model import (
    Effect,
    EffectPlace,
    FileAccess,
    OpaqueExec,
    Span,
    Unparsed,
    encode,
)
from policy.shell import builtins, outputs, run
from policy.shell.builtins import assign
from policy.shell.expand import (
    argument_lists,
    expand_fields,
    expand_text,
    expand_texts,
    run_subscripts,
)
from policy.shell.file_texts import is_silent, redirect, store
from policy.shell.grammar import build, parse
from policy.shell.lex import read_list, read_template
from policy.shell.state import VALUE_MAX, Findings, ShellState
from policy.shell.syntax import (
    Branch,
    CompoundCommand,
    Function,
    Loop,
    ShellExpression,
    ShellPipeline,
    ShellSyntaxError,
    Simple,
    Statement,
    Substitution,
    Token,
)
from policy.shell.syntax import Sequence as StatementSequence
from policy.shell.words import Cursor

RUN_DEPTH_MAX = 16  # programs that run programs, texts inside texts
ARGV_MAX = 64  # words of a command that each of the files it touches is reported with
_LOOP_PASSES = 2  # values that still change then are unknown


class Walk(NamedTuple):
    """A walk through one program: where it is, what is known there, and what it found.

    Attributes:
        span: where everything is placed inside text that is not the subject's own, such as the
            argument of `bash -c`; else None.
        is_visible: stdout reaches the caller.
        stdin: what commands can read; None: the terminal, or unknown to matter.
        is_captured: a variable holds stdout.
    """

    findings: Findings
    state: ShellState
    source: str
    span: Span | None = None
    nesting: tuple[str, ...] = ()
    is_syntactic: bool = True
    is_visible: bool = True
    stdin: str | None = None
    depth: int = 0
    calls: tuple[str, ...] = ()
    text: str = ""
    is_captured: bool = False

    def at(self, span: Span, text: str) -> Walk:
        """Return the walk at a command in this one's text."""
        return Walk(
            self.findings, self.state, self.source, span, self.nesting, self.is_syntactic,
            self.is_visible, self.stdin, self.depth, self.calls, text, self.is_captured,
        )  # fmt: skip

    def inside(self, what: str, span: Span | None = None, text: str | None = None) -> Walk:
        """Return the walk of a program or text that this one runs; too deep is an error."""
        if self.depth >= RUN_DEPTH_MAX:
            raise ShellSyntaxError(f"programs that run programs, {RUN_DEPTH_MAX} deep")
        return self._replace(
            span=span or self.span or (0, 0),
            nesting=(*self.nesting, what),
            depth=self.depth + 1,
            text=self.text if text is None else text,
        )

    def hidden(self) -> Walk:
        """Return the walk of what prints nothing that anyone sees."""
        return self._replace(is_visible=False)

    def apart(self) -> Walk:
        """Return the walk with a separate state, as in a subshell."""
        return self._replace(state=self.state.copy())

    def spend(self, amount: int = 1) -> None:
        """Count work; raises BudgetExceededError when the allowance is used up."""
        self.findings.spend(amount)

    # Texts

    def run_text(self, text: str) -> str:
        """Walk through shell text that something executes; return what it would print."""
        if marks.is_only_hole(text):
            self.report_opaque("shell text that is not known before it runs")
            return marks.LIST
        source = outputs.executable(self.untrace(text))
        self.spend(1 + len(source) // 16)
        try:
            statement = parse(source)
        except ShellSyntaxError as error:
            self.report_unparsed(str(error))
            return marks.LIST
        return self._replace(source=source).follow(statement)

    def run_code(self, language: str, code: str) -> None:
        """Screen a program in another language that this one starts."""
        if marks.is_only_hole(code):
            self.report_opaque(f"{language} code that is not known before it runs")
            return
        self.findings.screen(self, language, self.untrace(code))

    def untrace(self, text: str) -> str:
        """Return text about to be executed; decoded text is reported for that alone."""
        if marks.DECODED_KNOWN in text:
            self.report_opaque("decoded text is executed")
        return marks.untrace(text)

    # Reports

    def place(self, start: int, end: int) -> EffectPlace:
        """Return the place of a piece of the source."""
        text = self.source[start:end]
        if self.span is not None:
            return EffectPlace(self.span, text, self.nesting)
        if self.source.isascii():
            return EffectPlace((start, end), text, self.nesting)
        first = len(encode(self.source[:start]))
        return EffectPlace((first, first + len(encode(text))), text, self.nesting)

    def here(self) -> EffectPlace:
        """Return the place of effects."""
        return EffectPlace(self.span or (0, len(self.findings.program)), self.text, self.nesting)

    def report(self, effect: Effect) -> None:
        """Add an effect."""
        self.findings.effects[effect] = None

    def report_opaque(self, why: str, argv: tuple[str, ...] = ()) -> None:
        """Report that something unknown would be executed."""
        self.report(OpaqueExec(why, argv, self.here()))

    def report_unparsed(self, why: str) -> None:
        """Report that something unreadable would be executed."""
        self.report(Unparsed(why, self.here()))

    def report_partial(self, is_partial: bool = True) -> None:
        """Report that something was guessed, or could not be read."""
        self.findings.is_partial |= is_partial

    def report_file(self, path: str, *, is_write: bool = False, argv: Sequence[str] = ()) -> None:
        """Report that a file is read or written."""
        self.report(self.file_access(path, is_write=is_write, argv=argv))

    def file_access(self, path: str, *, is_write: bool, argv: Sequence[str]) -> FileAccess:
        """Return the reading or writing of a file, its path seen from where the walk is."""
        resolved = self.state.resolve(marks.untrace(path))
        return FileAccess(resolved, is_write, tuple(argv[:ARGV_MAX]), self.here())

    # Statements

    def follow(self, statement: Statement) -> str:
        """Follow one statement; return what it would print, if that is known."""
        self.spend()
        findings = self.findings
        outer, findings.walk = findings.walk, self
        output = _FOLLOWERS[type(statement)](self, statement)
        findings.walk = outer
        return output

    def _sequence(self, node: StatementSequence) -> str:
        printed = ""
        for item in node.items:
            output = self.follow(item)
            printed = printed + output if len(printed) + len(output) <= VALUE_MAX else marks.LIST
        return printed

    def _pipeline(self, node: ShellPipeline) -> str:
        """Run each stage in a copy of the state, with the stage before it on stdin."""
        output = self.stdin
        visible = [self.is_visible]
        for stage in reversed(node.stages[1:]):
            visible.append(visible[-1] and not is_silent(stage))
        for stage, is_visible in zip(node.stages, reversed(visible), strict=True):
            # `lastpipe` may keep the last stage's state, so it is not thrown away.
            inner = self if stage is node.stages[-1] else self.apart()
            is_whole = self.is_captured and len(node.stages) == 1
            inner = inner._replace(stdin=output, is_visible=is_visible, is_captured=is_whole)
            output = inner.follow(stage)
        return output or ""

    def _group(self, node: CompoundCommand) -> str:
        words = self.apart() if node.is_subshell else self
        inner, targets = redirect(words, words, node.redirections, ())
        return store(inner.follow(node.body), targets, inner.state)

    def _branch(self, node: Branch) -> str:
        for word in node.words:
            expand_fields(self.hidden(), word)
        for head in node.head:
            self.follow(head)
        found: set[str] = set()
        joined = self.state.copy()
        for arm in node.arms:
            inner = self.apart()
            found.add(inner.follow(arm))
            joined.join(inner.state)
        self.state.take(joined)
        found.discard("")
        return found.pop() if len(found) == 1 else marks.LIST if found else ""

    def _loop(self, node: Loop) -> str:
        state = self.state
        if node.variable:
            self._bind_loop_variable(node)
        output = ""
        for _ in range(_LOOP_PASSES):
            before = dict(state.variables)
            entry = state.copy()
            output = self.follow(node.body)
            state.join(entry)
            if state.variables == before:
                break
        else:
            state.widen(before)
            output = self.follow(node.body)
        return marks.LIST if output else ""

    def _bind_loop_variable(self, node: Loop) -> None:
        fields = self.state.parameters
        if node.items is not None:
            lists = argument_lists(self.hidden(), node.items)
            fields = tuple(field for fields in lists for field in fields)
        self.state.assign(node.variable, tuple(dict.fromkeys(fields)) or ("",))

    def _function(self, node: Function) -> str:
        name = expand_text(self, node.name.parts)
        self.state.functions[name] = (node.body, self.source)
        if name == "command_not_found_handle":
            self.apart().follow(node.body)
        return ""

    def _expression(self, node: ShellExpression) -> str:
        hidden = self.hidden()
        for word in node.words:
            for text in expand_texts(hidden, word.parts):
                run_subscripts(hidden, text)
        return ""

    # Simple commands

    def _simple(self, node: Simple) -> str:
        place = self.place(node.start, node.end)
        index = 0
        while index < len(node.words) and node.words[index].assignment is not None:
            index += 1
        assignments = [word.assignment for word in node.words[:index] if word.assignment]
        words = builtins.walk_of_words(self, node.words[index:])
        lists = argument_lists(words, node.words[index:])
        here = self.at(place.span, place.text)
        if index == len(node.words):
            here, targets = redirect(here, words, node.redirections, ())
            for assignment in assignments:
                assign(here, words, assignment)
            return store("", targets, self.state)
        variables = self.state.variables
        saved = {item.name: variables.get(item.name) for item in assignments}
        for assignment in assignments:
            assign(here, words, assignment, is_exported=True)
        if lists[0] and not lists[0][0].isascii():
            builtins.report_printed(here, node.words[index], lists[0])
        output = here._alternatives(words, lists, node)
        for name, variable in saved.items():
            if variable is None:
                self.state.variables.pop(name, None)
            else:
                self.state.variables[name] = variable
        return output

    def _alternatives(self, words: Walk, lists: list[tuple[str, ...]], node: Simple) -> str:
        """Run the command once for each argument list it may have."""
        found: set[str] = set()
        entry = self.state.copy() if len(lists) > 1 else self.state
        for number, argv in enumerate(lists):
            state = entry.copy() if number else self.state
            here, given = self._replace(state=state), words._replace(state=state)
            inner, targets = redirect(here, given, node.redirections, argv)
            found.add(store(inner.command(argv), targets, state))
            if number:
                self.state.join(state)
        return found.pop() if len(found) == 1 else marks.LIST

    def command(self, argv: tuple[str, ...]) -> str:
        """Run one command whose arguments are expanded; return what it would print."""
        self.spend(1 + len(argv))
        return run.run_command(self, argv) if argv else ""

    # Substitutions

    def substitute(self, part: Substitution) -> str:
        """Run a substitution in a copy of the state; for `<( )` return the path of its output."""
        span = self.span or self.place(part.start, part.end).span
        if self.depth >= RUN_DEPTH_MAX:
            raise ShellSyntaxError(f"substitutions {RUN_DEPTH_MAX} deep")
        inner = self.apart()._replace(
            nesting=(*self.nesting, part.kind),
            depth=self.depth + 1 if part.tokens is None else self.depth,
            span=span if part.tokens is None else self.span,
            stdin=None,
        )
        if part.tokens is not None and part.kind != ">(":
            output = inner.follow(self._build(part.tokens))
        else:
            if part.kind == ">(":
                inner = inner._replace(stdin=marks.LIST)
            output = inner._replace(span=span).run_text(part.text)
        if part.kind in ("<(", ">("):
            path = f"/dev/fd/{63 + len(self.state.files)}"
            self.state.files[path] = output
            return path
        return output

    def _build(self, tokens: tuple[Token, ...]) -> Statement:
        """Return the statement of a substitution's tokens, built once."""
        built = self.findings.built
        if id(tokens) not in built:
            built[id(tokens)] = (build(tokens), tokens)
        return built[id(tokens)][0]

    def run_template(self, text: str) -> str:
        """Run text that bash expands again when it is used: prompts, `${v@P}`, subscripts."""
        if marks.is_only_hole(text):
            self.report_opaque("a prompt that is not known before it is expanded")
            return marks.LIST
        if "$" not in text and "`" not in text:
            return text
        try:
            parts = read_template(text, Cursor(text, read_list))
        except ShellSyntaxError as error:
            self.report_unparsed(str(error))
            return marks.LIST
        return expand_text(self, parts)


_FOLLOWERS: dict[type, Callable[..., str]] = {
    Simple: Walk._simple,
    ShellExpression: Walk._expression,
    ShellPipeline: Walk._pipeline,
    StatementSequence: Walk._sequence,
    CompoundCommand: Walk._group,
    Branch: Walk._branch,
    Loop: Walk._loop,
    Function: Walk._function,
}
