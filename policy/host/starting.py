"""What calls do that start programs."""

from __future__ import annotations

from policy import marks
from policy.host.arguments import Argument, CallArguments
from policy.host.call import Act, HostCall
from policy.host.tree import text_of
from policy.shell.outputs import quote


def run_shell(call: HostCall, text: Argument) -> None:
    """The text is run by a shell."""
    for line in call.texts(text):
        call.run_text(line)


def run_argv(call: HostCall, argv: Argument) -> None:
    """The list is a command."""
    for words in call.lists(argv):
        call.run(words)


def run_auto(call: HostCall, command: Argument, over_map: bool = False) -> None:
    """A list is a command, a text is shell text; `map` passes over an environment."""
    given = call.arguments
    if over_map:
        rest = [node for node in given.positional if not call.screening.is_map(node)]
        call = call._replace(arguments=CallArguments(rest, given.named))
    for value in call.values(command):
        call.run_value(value)
        if isinstance(value, tuple) and value and "shell" in given.named:
            call.run_text(value[0])


def run_program(call: HostCall, program: Argument, rest: Argument = ()) -> None:
    """A program with a list of words or a text of them; alone, it may be a command line."""
    given = call.arguments.get(*rest)
    is_shell = "shell" in call.arguments.named
    is_alone = given is None or call.screening.is_map(given)  # options where the list would be
    for path in call.texts(program):
        is_line = is_alone and (is_shell or " " in path)
        for items in [()] if is_alone else call.lists(rest):
            if is_shell or is_line:
                call.run_text(" ".join((path, *items)))
            if not is_line:
                call.run((path, *items))


def run_varargs(
    call: HostCall, first: int, skip: bool = False, auto: bool = False, over_map: bool = False
) -> None:
    """Every argument from one on is a word; `skip` leaves out argv[0], `auto` takes one alone for
    shell text, `map` passes over an environment."""
    nodes = list(call.arguments.positional[first:])
    if skip:
        nodes = nodes[:1] + nodes[2:]
    while nodes and over_map and call.screening.is_map(nodes[0]):
        nodes.pop(0)
    if auto and len(nodes) == 1:
        for value in call.screening.folder.values(nodes[0]):
            call.run_value(value)
    else:
        for argv in call.screening.words_of(nodes):
            call.run(argv)


def run_program_argv(call: HostCall, program: Argument, argv: Argument) -> None:
    """`execv(program, argv)`: the list's first word is only the name that the program sees."""
    for path in call.texts(program):
        for items in call.lists(argv) or [()]:
            is_known = bool(items) and not marks.splits(items[0])
            call.run((path, *items[is_known:]))


def run_named(call: HostCall, first: int) -> None:
    """A function called like the program it stands for: its name from one segment on is words,
    `_` stands for `-`, and an argument `force=True` for `--force`."""
    name = [word.replace("_", "-") for word in call.name.split(".")[first:]]
    for argv in call.screening.words_of(call.arguments.positional):
        call.run((*name, *_options(call), *argv))


def _options(call: HostCall) -> list[str]:
    """The options that `force=True`, `{force: true}` and `.setForce(true)` stand for."""
    return [
        f"-{key}" if len(key) == 1 else f"--{key.removeprefix('set').lower().replace('_', '-')}"
        for key, node in call.arguments.named.items()
        if key[0] != "_" and (node.text or b"").lower() in (b"true", b"null", b"nil")
    ]


def run_prefixed(call: HostCall, words: str) -> None:
    """The arguments stand behind the words of one command: `remote.push("-f")`, `git push -f`."""
    for argv in call.screening.words_of(call.arguments.positional):
        call.run((*words.split("_"), *_options(call), *argv))


def run_tokens(call: HostCall) -> None:
    """A macro whose tokens are a command line: `run_cmd!(rm -rf build)`."""
    call.run_text(text_of(call.node).partition("(")[2].rstrip(")"))


def run_each(call: HostCall) -> None:
    """Every argument is a command of its own."""
    for node in call.arguments.positional:
        for value in call.screening.folder.values(node):
            call.run_value(value)


def run_built(call: HostCall, first: int) -> None:
    """Words from one argument on, with what chained calls add."""
    for head in call.screening.words_of(call.arguments.positional[first:]):
        for added in call.screening.chain_words(call.node):
            call.run((*head, *added))


def start(call: HostCall, program: Argument, rest: Argument) -> None:
    """.NET's way: a file name with one text of arguments, or with a list of them."""
    names = call.screening.folder.references(call.target(program))
    if any("ProcessStartInfo" in name for name in names):
        return  # what the info holds is judged where it is filled
    for path in call.texts(program):
        if call.target(rest) is None:
            for added in call.screening.chain_words(call.node):
                call.run((path, *added))
        for value in call.values(rest):
            if isinstance(value, tuple):
                call.run((path, *value))
            else:
                call.run_text(f"{quote(path)} {value}")


def open_port(call: HostCall) -> None:
    """Elixir's `Port.open({:spawn, text}, opts)` and `{:spawn_executable, path}, args: list`."""
    for kind, *words in (value for value in call.lists((0,)) if value):
        if kind in (":spawn", "spawn"):
            call.run_text(" ".join(words))
        elif words:
            for items in call.lists(("args",)) or [()]:
                call.run((words[0], *items))


ACTS: dict[str, Act] = {
    "shell": run_shell, "argv": run_argv, "auto": run_auto, "program": run_program,
    "varargs": run_varargs, "program_argv": run_program_argv, "named": run_named,
    "prefixed": run_prefixed, "each": run_each, "tokens": run_tokens, "builder": run_built,
    "start": start, "port": open_port,
}  # fmt: skip
