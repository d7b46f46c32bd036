"""The verb `run -i`: run programs interactively, in a session that keeps variables."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import trio

from base.wording import inflect
from ctxmode import exit_codes
from ctxmode.app import App
from ctxmode.commands.run import ask_consent
from ctxmode.errors import ContextModeError, UsageError, unwrap, why
from ctxmode.launch import with_app
from ctxmode.render.highlight import harmless
from ctxmode.render.results import ending, refusal_text
from ctxmode.render.terminal_output import LiveOutput, waiting
from executor import Caller, Request, Result, Status
from runtimes import Language, UnknownLanguage, language

if TYPE_CHECKING:
    from prompt_toolkit.lexers import Lexer
    from tree_sitter import Node, Parser


_QUOTES = frozenset("\"'`")
_OPENERS = frozenset("([{")
_CLOSERS = frozenset(")]}") | {"end", "fi", "done", "esac"}


def is_complete(text: str, row: Language) -> bool:
    """Return whether a program is ready to run: no bracket, quote or block is open. Programs with
    other syntax errors are ready, as their language reports them. Languages that start a new
    process per program, and all others too, end programs with an empty line."""
    if not text.rsplit("\n", maxsplit=1)[-1].strip():
        return True
    if row.conversation is None:
        return False
    if row.conversation.is_complete is not None:
        return row.conversation.is_complete(text)
    parser = _parser(row.grammar)
    return parser is None or not _is_open(text, parser, row.conversation.tag)


def _parser(grammar: str) -> Parser | None:
    from tree_sitter import Parser  # noqa: PLC0415 - loaded when something is typed
    from tree_sitter_language_pack import get_language  # noqa: PLC0415

    try:
        return Parser(get_language(grammar))  # type: ignore[arg-type]  # a name of the table's
    except LookupError:
        return None


def _is_open(text: str, parser: Parser, tag: str) -> bool:
    source = (tag + text).encode()
    root = parser.parse(source).root_node
    if not root.has_error:
        return False
    if tag and not parser.parse(source + b";").root_node.has_error:
        return False
    end = len(source.rstrip())
    troubles = list(_find_troubles(root))
    return not troubles or any(_opens(trouble, end) for trouble in troubles)


def _find_troubles(node: Node) -> Iterator[Node]:
    """Yield the nodes at which the text does not fit the grammar."""
    if node.is_error or node.is_missing:
        yield node
    elif node.has_error:
        for child in node.children:
            yield from _find_troubles(child)


def _opens(trouble: Node, end: int) -> bool:
    """Return whether the text is incomplete, not wrong."""
    leaves = [leaf.type for leaf in _find_leaves(trouble)]
    if not _QUOTES.isdisjoint(leaves):
        return True  # what follows a quote that is not closed is taken for something else
    if trouble.end_byte < end or trouble.is_missing:
        return trouble.end_byte >= end
    return leaves[-1] not in _CLOSERS or not _OPENERS.isdisjoint(leaves)


def _find_leaves(node: Node) -> Iterator[Node]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _find_leaves(child)


COMMANDS = {
    ".help": "list these commands",
    ".load FILE": "run a program file of the project in this session",
    ".save FILE": "write the programs typed so far to a new file",
    ".reset": "restart the session: variables and files are deleted",
    ".quit": "quit, as Ctrl-D does",
}
_TAKES_FILE = {form.split()[0]: " " in form for form in COMMANDS}


def is_command(text: str) -> bool:
    """Return whether a text is a command of the session, not a program."""
    return "\n" not in text and text.split(" ", maxsplit=1)[0].rstrip() in _TAKES_FILE


def parse(text: str) -> tuple[str, str]:
    """Split a command from its file, which is empty if the command takes none. Raise UsageError if
    the file is missing, or the command takes none."""
    name, _, file = text.strip().partition(" ")
    if bool(file.strip()) != _TAKES_FILE[name]:
        form = next(form for form in COMMANDS if form.split()[0] == name)
        raise UsageError(f"invalid command {text.strip()!r}", f"Use {form}.")
    return name, file.strip()


def help_text() -> str:
    """List all commands, a line each, and the keys."""
    lines = [f"{form:<12} {meaning}" for form, meaning in COMMANDS.items()]
    keys = "Ctrl-C stops a program, an empty line ends one, Alt-Enter inserts a line break."
    return "\n".join([*lines, keys])


def save(programs: Sequence[str], file: Path) -> str:
    """Write programs to a new file and return a message. Raise UsageError if the file exists or
    cannot be written."""
    text = "".join(f"{program.rstrip()}\n" for program in programs)
    try:
        with file.open("x", encoding="utf-8", errors="surrogateescape") as out:
            out.write(text)
    except FileExistsError as error:
        raise UsageError(f"{file} already exists", "Name another file.") from error
    except OSError as error:
        raise UsageError(f"cannot write {file}: {why(error)}", "Name another file.") from error
    return f"{inflect(len(programs), 'program')} saved to {file}"


Reader = Callable[[], Awaitable[str | None]]
"""The next program, or a command; None at the end."""


def is_ready(text: str, row: Language) -> bool:
    """Return whether the typed text is a command or a complete program."""
    return is_command(text) or is_complete(text, row)


def build_pipe_reader(source: TextIO, row: Language) -> Reader:
    """Read programs from a pipe, cut as they would be at a terminal."""

    async def read() -> str | None:
        lines: list[str] = []
        while line := await trio.to_thread.run_sync(source.readline, abandon_on_cancel=True):
            lines.append(line.removesuffix("\n"))
            if is_ready("\n".join(lines), row):
                return "\n".join(lines)
        return "\n".join(lines) if lines else None

    return read


def build_terminal_reader(row: Language, folder: Path) -> Reader:
    """Read programs from a terminal, with editing, highlighting and a history in `folder`."""
    from prompt_toolkit import PromptSession  # noqa: PLC0415 - for terminals only
    from prompt_toolkit.filters import Condition  # noqa: PLC0415
    from prompt_toolkit.history import FileHistory  # noqa: PLC0415

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    session: PromptSession[str] = PromptSession(
        f"{row.name}> ",
        multiline=Condition(lambda: not is_ready(session.default_buffer.text, row)),
        history=FileHistory(str(folder / row.name)),
        lexer=_lexer(row),
        prompt_continuation=lambda width, *_: ".".rjust(width - 1) + " ",
    )
    ask = partial(session.prompt, handle_sigint=False)

    async def read() -> str | None:
        try:
            return await trio.to_thread.run_sync(ask, abandon_on_cancel=True)
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None

    return read


def _lexer(row: Language) -> Lexer | None:
    """Return the highlighter of a language, if pygments has it under one of its names."""
    from prompt_toolkit.lexers import PygmentsLexer  # noqa: PLC0415

    lexers, util = import_module("pygments.lexers"), import_module("pygments.util")
    for name in (row.name, row.grammar, *row.aliases):
        try:
            return PygmentsLexer(lexers.find_lexer_class_by_name(name))
        except util.ClassNotFound:
            continue
    return None


NAME = "repl"
REACTION_S_MAX = 3.0
"""Time for an interpreter to stop at Ctrl-C before its session is ended."""
AGAIN_S = 1.0
"""Time until a second interrupt: a process that was being forked misses the first signal."""
CALLER = Caller(preparing=waiting)
_PLAIN = (Status.OK, Status.NONZERO_EXIT)
_CHANGED = ("ended", "interpreter", "continued, with", "started: ")  # shown to the user


def say(text: str) -> None:
    """Print a message on stderr; control characters in it are escaped."""
    sys.stderr.write(f"{harmless(text)}\n")
    sys.stderr.flush()


@dataclass(slots=True)
class ReplSession:
    """One session of one language."""

    app: App
    request: Request  # shared by all its programs
    interruptible: bool
    typed: list[str] = field(default_factory=list)

    async def hold(self, read: Reader) -> None:
        """Read and run programs until the input ends."""
        while (text := await read()) is not None:
            try:
                if is_command(text):
                    name, file = parse(text)
                    if name == ".quit":
                        return
                    await self._obey(name, file)
                elif text.strip():
                    self.typed.append(text)
                    await self._run(replace(self.request, code=text))
            except BaseException as raised:
                error = unwrap(raised)
                if not isinstance(error, ContextModeError):
                    raise
                say(str(error))

    async def _obey(self, name: str, file: str) -> None:
        if name == ".help":
            say(help_text())
        elif name == ".load":
            await self._run(replace(self.request, path=file))
        elif name == ".save":
            say(await trio.to_thread.run_sync(save, self.typed, Path(file)))
        else:
            self.request = replace(self.request, fresh=True)
            say("the next program starts a new session")

    async def _run(self, request: Request) -> None:
        """Run one program and show its output as it arrives. Ctrl-C stops the program, or if that
        fails, the session."""
        self.request = replace(self.request, fresh=False)
        if not self.interruptible:
            await self._execute(request)
            return
        with trio.open_signal_receiver(signal.SIGINT) as signals:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch, aiter(signals), nursery.cancel_scope)
                await self._execute(request)
                nursery.cancel_scope.cancel()

    async def _execute(self, request: Request) -> None:
        async with LiveOutput.open(sys.stdout.buffer, sys.stderr.buffer) as output:
            answer = await self.app.execute(request, on_output=output.feed, caller=CALLER)
        _tell(answer.result)

    async def _watch(self, interrupts: AsyncIterator[int], program: trio.CancelScope) -> None:
        """Interrupt the program at Ctrl-C; if it continues, end the session."""
        await anext(interrupts)
        if not await self.app.interrupt(NAME):
            say("stopped before it ran")
            program.cancel()
            return
        with trio.move_on_after(REACTION_S_MAX) as waiting:
            with trio.move_on_after(AGAIN_S) as first:
                await anext(interrupts)
            if first.cancelled_caught:
                await self.app.interrupt(NAME)
                await anext(interrupts)
        late = (
            f"the program did not stop within {REACTION_S_MAX:g} s: "
            if waiting.cancelled_caught
            else ""
        )
        say(f"{late}the session is ended and its variables are deleted")
        program.cancel()


def _tell(result: Result) -> None:
    """Report the ending and the state of the session, unless the output shows them."""
    if result.status in (Status.DENIED, Status.REDIRECTED):
        say(refusal_text(result))
    elif result.status not in _PLAIN:
        say(ending(result))
    elif result.exit_code == exit_codes.INTERRUPTED:
        say("interrupted")
    elif result.message:
        say(result.message)
    if result.session and result.session.startswith(_CHANGED):
        say(f"session {result.session}")


def run_verb(args: argparse.Namespace) -> int:
    try:
        row = language(args.language)
    except UnknownLanguage as error:
        raise UsageError(str(error), "For example: context-mode run -i python") from error
    with_app(args, partial(_converse, row=row, args=args))
    return exit_codes.OK


async def _converse(app: App, row: Language, args: argparse.Namespace) -> None:
    at_terminal = sys.stdin.isatty()
    request = Request(
        row.name,
        session=NAME,
        profile=args.profile,
        timeout_s=args.timeout,
        interactive=True,
        packages=tuple(args.packages),
    )
    await app.check(replace(request, code="1"), f"repl {row.name}")
    if request.packages:  # a person is asked, and told what is wrong, before they type anything
        caller = Caller(consent=ask_consent, preparing=waiting)
        await app.packages(request, caller)
    if at_terminal:
        say(f"{row.title} in the sandbox: tier {app.tier}, profile {args.profile}")
        say("Ctrl-C stops a program, Ctrl-D leaves, .help lists commands")
        read = build_terminal_reader(row, app.config.state_dir / "history")
    else:
        read = build_pipe_reader(sys.stdin, row)
    await ReplSession(app, request, at_terminal).hold(read)
