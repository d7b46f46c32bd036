"""Walk over statements with a state, reporting every effect a program would have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from policy import marks
from policy.model import (
    Command,
    Download,
    Effect,
    EffectPlace,
    FileAccess,
    OpaqueExec,
    Unparsed,
    encode,
    program_name,
)
from policy.shell import builtins, outputs, run
from policy.shell.assignments import assign
from policy.shell.expand import Expander
from policy.shell.fields import FIELD_BREAK
from policy.shell.grammar import build, parse
from policy.shell.lex import read_list, read_template
from policy.shell.redirections import is_silent, redirect, store
from policy.shell.state import RUN_DEPTH_MAX, VALUE_MAX, Frame, Screen, ShellState, WorkBudget
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

if TYPE_CHECKING:
    from policy.shell.script_files import Scripts

RECURSION_MAX = 3  # calls of one function inside itself before its arguments count as unknown
ARGV_MAX = 64  # words of a command that each of the files it touches is reported with
_LOOP_PASSES = 2  # values that still change then are unknown


class Walker:
    """One evaluation: collects effects in `effects`, spends `budget`."""

    def __init__(self, budget: WorkBudget, screen: Screen, program: str) -> None:
        self.budget = budget
        self.screen = screen
        self.program = program
        self.effects: dict[Effect, None] = {}
        self.frame = Frame(program)
        self.captured: list[Download] = []  # those whose answer a variable holds
        self.scripts: Scripts | None = None  # those on the disk, if they may be read
        self.is_partial = False  # something was guessed, or could not be read
        self.steps: set[object] = set()  # of project files, already followed
        self.built: dict[int, tuple[Statement, tuple[Token, ...]]] = {}
        # Calls already followed; the body is stored so that its identity stays its own.
        self.called: dict[object, tuple[str, ShellState, Statement]] = {}
        self.expander = Expander(budget, self._substitute, self.run_template)

    # Texts

    def run_text(self, text: str, state: ShellState, frame: Frame) -> str:
        """Walk shell text that something executes; return what it would print."""
        if marks.is_only_hole(text):
            self.report_opaque("shell text that is not known before it runs", (), frame)
            return marks.LIST
        source = outputs.executable(self._untrace(text, frame))
        self.budget.spend(1 + len(source) // 16)
        try:
            statement = parse(source)
        except ShellSyntaxError as error:
            self.report_unparsed(str(error), frame)
            return marks.LIST
        return self.walk(statement, state, frame._replace(source=source))

    def run_code(self, language: str, code: str, state: ShellState, frame: Frame) -> None:
        """Screen a program in another language that this one starts."""
        if marks.is_only_hole(code):
            self.report_opaque(f"{language} code that is not known before it runs", (), frame)
            return
        self.screen(self, language, self._untrace(code, frame), state, frame)

    def _untrace(self, text: str, frame: Frame) -> str:
        """Return text about to be executed; decoded text is reported for that alone."""
        if marks.DECODED_KNOWN in text:
            self.report_opaque("decoded text is executed", (), frame)
        return marks.untrace(text)

    # Reports

    def place(self, start: int, end: int, frame: Frame) -> EffectPlace:
        """Return the place of a piece of the frame's source."""
        text = frame.source[start:end]
        if frame.span is not None:
            return EffectPlace(frame.span, text, frame.nesting)
        if frame.source.isascii():
            return EffectPlace((start, end), text, frame.nesting)
        first = len(encode(frame.source[:start]))
        return EffectPlace((first, first + len(encode(text))), text, frame.nesting)

    def _here(self, frame: Frame) -> EffectPlace:
        return EffectPlace(frame.span or (0, len(self.program)), frame.text, frame.nesting)

    def report(self, effect: Effect) -> None:
        """Add an effect."""
        self.effects[effect] = None

    def report_opaque(self, why: str, argv: tuple[str, ...], frame: Frame) -> None:
        """Report that something unknown would be executed."""
        self.report(OpaqueExec(why, argv, self._here(frame)))

    def report_unparsed(self, why: str, frame: Frame) -> None:
        """Report that something unreadable would be executed."""
        self.report(Unparsed(why, self._here(frame)))

    def report_file(
        self,
        path: str,
        state: ShellState,
        frame: Frame,
        *,
        is_write: bool,
        argv: Sequence[str] = (),
    ) -> None:
        """Report that a file is read or written."""
        self.report(self.file_access(path, state, frame, is_write=is_write, argv=argv))

    def file_access(
        self, path: str, state: ShellState, frame: Frame, *, is_write: bool, argv: Sequence[str]
    ) -> FileAccess:
        """Return the reading or writing of a file, its path seen from where the walk is."""
        resolved = state.resolve(marks.untrace(path))
        return FileAccess(resolved, is_write, tuple(argv[:ARGV_MAX]), self._here(frame))

    # Statements

    def walk(self, statement: Statement, state: ShellState, frame: Frame) -> str:
        """Walk one statement; return what it would print, if that is known."""
        self.budget.spend()
        outer, self.frame = self.frame, frame
        output = _WALKERS[type(statement)](self, statement, state, frame)
        self.frame = outer
        return output

    def _sequence(self, node: StatementSequence, state: ShellState, frame: Frame) -> str:
        printed = ""
        for item in node.items:
            output = self.walk(item, state, frame)
            printed = printed + output if len(printed) + len(output) <= VALUE_MAX else marks.LIST
        return printed

    def _pipeline(self, node: ShellPipeline, state: ShellState, frame: Frame) -> str:
        """Run each stage in a copy of the state, with the stage before it on stdin."""
        output = frame.stdin
        visible = [frame.is_visible]
        for stage in reversed(node.stages[1:]):
            visible.append(visible[-1] and not is_silent(stage))
        for stage, is_visible in zip(node.stages, reversed(visible), strict=True):
            is_last = stage is node.stages[-1]
            is_whole = frame.is_captured and len(node.stages) == 1
            inner = frame._replace(stdin=output, is_visible=is_visible, is_captured=is_whole)
            # `lastpipe` may keep the last stage's state, so it is not thrown away.
            output = self.walk(stage, state if is_last else state.copy(), inner)
        return output or ""

    def _group(self, node: CompoundCommand, state: ShellState, frame: Frame) -> str:
        inner_state = state.copy() if node.is_subshell else state
        frame, targets = redirect(self, node.redirections, inner_state, frame, ())
        output = self.walk(node.body, inner_state, frame)
        return store(output, targets, inner_state)

    def _branch(self, node: Branch, state: ShellState, frame: Frame) -> str:
        self.frame = frame._replace(is_visible=False)
        for word in node.words:
            self.expander.fields(word, state)
        for head in node.head:
            self.walk(head, state, frame)
        found: set[str] = set()
        joined = state.copy()
        for arm in node.arms:
            arm_state = state.copy()
            found.add(self.walk(arm, arm_state, frame))
            joined.join(arm_state)
        state.take(joined)
        found.discard("")
        return found.pop() if len(found) == 1 else marks.LIST if found else ""

    def _loop(self, node: Loop, state: ShellState, frame: Frame) -> str:
        if node.variable:
            self._bind_loop_variable(node, state, frame)
        output = ""
        for _ in range(_LOOP_PASSES):
            before = dict(state.variables)
            entry = state.copy()
            output = self.walk(node.body, state, frame)
            state.join(entry)
            if state.variables == before:
                break
        else:
            state.widen(before)
            output = self.walk(node.body, state, frame)
        return marks.LIST if output else ""

    def _bind_loop_variable(self, node: Loop, state: ShellState, frame: Frame) -> None:
        if node.items is None:
            fields: tuple[str, ...] = state.parameters
        else:
            self.frame = frame._replace(is_visible=False)
            lists = self.expander.argument_lists(node.items, state)
            fields = tuple(field for fields in lists for field in fields)
        state.assign(node.variable, tuple(dict.fromkeys(fields)) or ("",))

    def _function(self, node: Function, state: ShellState, frame: Frame) -> str:
        name = self.expander.text(node.name.parts, state)
        state.functions[name] = (node.body, frame.source)
        if name == "command_not_found_handle":
            self.walk(node.body, state.copy(), frame)
        return ""

    def _expression(self, node: ShellExpression, state: ShellState, frame: Frame) -> str:
        self.frame = frame._replace(is_visible=False)
        for word in node.words:
            for text in self.expander.texts(word.parts, state):
                self.expander.run_subscripts(text, state)
        return ""

    # Simple commands

    def _simple(self, node: Simple, state: ShellState, frame: Frame) -> str:
        place = self.place(node.start, node.end, frame)
        index = 0
        while index < len(node.words) and node.words[index].assignment is not None:
            index += 1
        assignments = [word.assignment for word in node.words[:index] if word.assignment]
        self.frame = builtins.frame_of_words(node.words[index:], frame)
        lists = self.expander.argument_lists(node.words[index:], state)
        frame = frame.at(place.span, place.text)
        if index == len(node.words):
            frame, targets = redirect(self, node.redirections, state, frame, ())
            for assignment in assignments:
                assign(self, assignment, state, frame)
            return store("", targets, state)
        saved = {item.name: state.variables.get(item.name) for item in assignments}
        for assignment in assignments:
            assign(self, assignment, state, frame, is_exported=True)
        if lists[0] and not lists[0][0].isascii():
            builtins.report_printed(self, node.words[index], lists[0], frame)
        output = self._alternatives(lists, node, state, frame)
        for name, variable in saved.items():
            if variable is None:
                state.variables.pop(name, None)
            else:
                state.variables[name] = variable
        return output

    def _alternatives(
        self, lists: list[tuple[str, ...]], node: Simple, state: ShellState, frame: Frame
    ) -> str:
        """Run the command once for each argument list it may have."""
        found: set[str] = set()
        entry = state.copy() if len(lists) > 1 else state
        for number, argv in enumerate(lists):
            branch = entry.copy() if number else state
            inner, targets = redirect(self, node.redirections, branch, frame, argv)
            found.add(store(self.command(argv, branch, inner), targets, branch))
            if number:
                state.join(branch)
        return found.pop() if len(found) == 1 else marks.LIST

    def command(self, argv: tuple[str, ...], state: ShellState, frame: Frame) -> str:
        """Run one command whose arguments are expanded; return what it would print."""
        self.budget.spend(1 + len(argv))
        if not argv:
            return ""
        if marks.DECODED_KNOWN in "".join(argv):
            argv = (self._untrace(argv[0], frame), *map(marks.untrace, argv[1:]))
        if state.links and "/" in argv[0]:
            argv = (state.resolve(argv[0]), *argv[1:])
        shown = argv
        if argv[0] in ("echo", "printf") and frame.is_visible and marks.FETCHED in "".join(argv):
            for download in self.captured:
                self.report(download._replace(reaches_output=True))
        if argv[0] in builtins.DECLARES:
            shown = tuple(word.replace(FIELD_BREAK, " ") for word in argv)
        self.report(Command(shown, self._here(frame), frame.is_syntactic))
        if program_name(argv[0]) is None:
            builtins.run_after_unknown(self, argv, state, frame)
        if argv[0] in state.aliases:
            builtins.run_alias(self, argv, state, frame)
        if function := state.functions.get(argv[0]):
            return self._call(function, argv, state, frame)
        if handler := builtins.BUILTINS.get(argv[0]):
            output = handler(self, argv, state, frame)
            if output is not None:
                return output
        return run.run_program(self, argv, state, frame)

    def _call(
        self,
        function: tuple[Statement, str],
        argv: tuple[str, ...],
        state: ShellState,
        frame: Frame,
    ) -> str:
        depth = frame.calls.count(argv[0])
        if depth > RECURSION_MAX:
            return marks.LIST
        body, source = function
        parameters = argv[1:] if depth < RECURSION_MAX else (marks.LIST,)
        key = (argv[0], parameters, id(body), state.fingerprint(), frame.stdin, frame.is_visible)
        if key in self.called:
            output, result, _ = self.called[key]
            state.take(result)
            return output
        self.budget.spend(1 + len(state.variables) // 8)
        outer, state.parameters = state.parameters, parameters
        in_place = frame.depth == 0 and source is self.program
        inner = frame._replace(
            source=source,
            span=None if in_place else frame.span,
            calls=(*frame.calls, argv[0]),
            nesting=(*frame.nesting, f"{argv[0]}()"),
        )
        output = self.walk(body, state, inner)
        state.parameters = outer
        self.called[key] = (output, state.copy(), body)
        return output

    # Substitutions

    def _substitute(self, part: Substitution, state: ShellState) -> str:
        """Run a substitution in a copy of the state; for `<( )` return the path of its output."""
        frame = self.frame
        span = frame.span or self.place(part.start, part.end, frame).span
        if frame.depth >= RUN_DEPTH_MAX:
            raise ShellSyntaxError(f"substitutions {RUN_DEPTH_MAX} deep")
        inner = frame._replace(
            nesting=(*frame.nesting, part.kind),
            depth=frame.depth + 1 if part.tokens is None else frame.depth,
            span=span if part.tokens is None else frame.span,
            stdin=None,
        )
        inner_state = state.copy()
        if part.tokens is not None and part.kind != ">(":
            output = self.walk(self._build(part.tokens), inner_state, inner)
        else:
            if part.kind == ">(":
                inner = inner._replace(stdin=marks.LIST)
            output = self.run_text(part.text, inner_state, inner._replace(span=span))
        if part.kind in ("<(", ">("):
            path = f"/dev/fd/{63 + len(state.files)}"
            state.files[path] = output
            return path
        return output

    def _build(self, tokens: tuple[Token, ...]) -> Statement:
        """Return the statement of a substitution's tokens, built once."""
        if id(tokens) not in self.built:
            self.built[id(tokens)] = (build(tokens), tokens)
        return self.built[id(tokens)][0]

    def run_template(self, text: str, state: ShellState) -> str:
        """Run text that bash expands again when it is used: prompts, `${v@P}`, subscripts."""
        frame = self.frame
        if marks.is_only_hole(text):
            self.report_opaque("a prompt that is not known before it is expanded", (), frame)
            return marks.LIST
        if "$" not in text and "`" not in text:
            return text
        try:
            parts = read_template(text, Cursor(text, read_list))
        except ShellSyntaxError as error:
            self.report_unparsed(str(error), frame)
            return marks.LIST
        return self.expander.text(parts, state)


_WALKERS: dict[type, Callable[..., str]] = {
    Simple: Walker._simple,
    ShellExpression: Walker._expression,
    ShellPipeline: Walker._pipeline,
    StatementSequence: Walker._sequence,
    CompoundCommand: Walker._group,
    Branch: Walker._branch,
    Loop: Walker._loop,
    Function: Walker._function,
}
