"""Effects of calls: start programs, open files, run code, call other functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from policy import marks
from policy.host.call import Act, Argument, HostCall
from policy.host.tree import CallArguments, text_of
from policy.shell.outputs import quote

if TYPE_CHECKING:
    from tree_sitter import Node


def run_code(call: HostCall, language: str, code: Argument, known: bool = False) -> None:
    """Run the text as code; a block or a function is read in place. With `known`, an unknown value
    is treated as a function, too."""
    target = call.target(code)
    if target is not None and target.type not in _BLOCKS:
        for text in call.texts(code):
            if not (known and marks.is_only_hole(text)):
                call.run_code(language, text)


_BLOCKS = frozenset(("block", "do_block", "lambda", "function", "block_argument"))


def run_tagged(call: HostCall, template: Argument) -> None:
    """Run the template by a shell; called in any other way the name is not the known one."""
    target = call.target(template)
    if target is not None and target.type == "template_string":
        for text in call.texts(template):
            call.run_text(text)


def source(call: HostCall, language: str, path: Argument) -> None:
    """Run the content of a file or an address as code."""
    for text in call.texts(path):
        if "://" in text or marks.taint(text):
            call.run_code(language, marks.FETCHED)
    read_file(call, path)


def read_file(call: HostCall, path: Argument) -> None:
    """Read the file, or every file of a list."""
    for file in call.paths(path):
        call.use_file(file)


def load(call: HostCall, path: Argument) -> None:
    """Read a module that is named by a path."""
    for file in call.paths(path):
        call.load(file)


def write(call: HostCall, path: Argument) -> None:
    """Write the file."""
    for file in call.paths(path):
        call.use_file(file, is_write=True)


def open_file(call: HostCall, path: Argument, mode: Argument) -> None:
    """Open the file in a mode: `r`, `w+`, or names such as `O_WRONLY`."""
    texts = call.texts(mode)
    node = call.target(mode)
    written = (node.text or b"") if node is not None else b""
    is_write = any(set(text) & set("wax+>") for text in texts if marks.is_known(text))
    is_write = is_write or _WRITES.search(written) is not None
    for file in call.paths(path):
        call.use_file(file, is_write=is_write)


# Names of modes that write; `inplace=True`, and the calls on Rust's `OpenOptions`.
_WRITES = re.compile(rb"WRONLY|RDWR|CREAT|Write|Create|Append|Truncate|True|(write|append)\(true")


def load_dotenv(call: HostCall, path: Argument) -> None:
    """Read `.env`, as loaders do if no path is given."""
    if call.target(path) is None:
        call.use_file(".env")
    read_file(call, path)


def read_or_run(call: HostCall, path: Argument) -> None:
    """Read a file by its path, or run a text with a space in it as a command."""
    for text in call.texts(path):
        if " " in text.strip():
            call.run_text(text)
        else:
            call.use_file(text)


def open_perl(call: HostCall) -> None:
    """Open by `open(F, "cmd |")`, `open(F, "-|", "cmd", args)`, `open(F, "<", path)`."""
    rest = call.arguments.positional[2:]
    for mode in (text.strip() for text in call.texts((1,))):
        if rest and mode in ("-|", "|-"):
            for argv in call.screening.words_of(rest):
                call.run_value(argv[0] if len(argv) == 1 else argv)
        elif rest:
            for path in call.paths((2,)):
                call.use_file(path, is_write=bool(set(mode) & set(">+")))
        elif mode.startswith("|") or mode.endswith("|"):
            call.run_text(mode.strip("|"))
        else:
            call.use_file(mode.lstrip("<>+ "), is_write=mode[:1] in ">+")


def open_or_run(call: HostCall, path: Argument, mode: Argument) -> None:
    """Run Ruby's `open("|cmd")`; anything else is a file."""
    texts = call.texts(path)
    for text in texts:
        if text.startswith("|"):
            call.run_text(text[1:])
    if not all(text.startswith("|") for text in texts):
        open_file(call, path, mode)


def change_folder(call: HostCall, folder: Argument) -> None:
    """Change the folder from which relative paths are seen."""
    state = call.screening.walk.state
    for path in [*call.paths(folder)][:1]:
        is_whole = path.startswith("/") or marks.has_hole(path)
        state.cwd = path if is_whole else f"{state.cwd}/{path}"


def apply(call: HostCall, function: Argument, rest: Argument = ()) -> None:
    """Call the function in one argument with the rest, or with the words of a list."""
    folder = call.screening.folder
    refs = list(folder.references(call.target(function)))
    for text in call.texts(function):
        if marks.is_known(text):  # `Kernel.send(:exec, ...)`: a name on the receiver
            name = text.lstrip(":")
            owners = folder.references(call.target(("self",)))
            refs += [name, *(f"{owner}.{name}" for owner in owners)]
    for ref in dict.fromkeys(refs):
        recipes = call.screening.tree.language.recipes(ref)
        if not any(recipe.func is apply for recipe in recipes):
            call.apply(ref, _pass_on(call, function[0], rest), call.arguments.named)


def _pass_on(call: HostCall, first: int | str, rest: Argument) -> list[Node]:
    if not rest:
        given = call.arguments.positional
        return given[first + 1 :] if isinstance(first, int) else given
    group = call.arguments.get(*rest)
    return call.screening.list_items(group) if group is not None else []


def apply_module(call: HostCall) -> None:
    """Call by `apply(Module, :function, arguments)`."""
    group = call.target((2,))
    if group is not None:
        passed = call.screening.folder.tree.children(group)
        for module in call.screening.folder.references(call.target((0,))):
            for function in call.texts((1,)):
                call.apply(f"{module}.{function}", passed, {})


OTHER_ACTS: dict[str, Act] = {
    "eval": run_code, "tagged": run_tagged,
    "source": source, "read": read_file, "load": load, "write": write, "open": open_file,
    "dotenv": load_dotenv, "read_or_shell": read_or_run, "perl_open": open_perl,
    "pipe_open": open_or_run, "chdir": change_folder, "apply": apply,
    "apply_elixir": apply_module,
}  # fmt: skip


def run_shell(call: HostCall, text: Argument) -> None:
    """Run the text by a shell."""
    for line in call.texts(text):
        call.run_text(line)


def run_argv(call: HostCall, argv: Argument) -> None:
    """Run the list as a command."""
    for words in call.lists(argv):
        call.run(words)


def run_auto(call: HostCall, command: Argument, over_map: bool = False) -> None:
    """Run a list as a command, a text as shell text; `map` skips an environment."""
    given = call.arguments
    if over_map:
        rest = [node for node in given.positional if not call.screening.is_map(node)]
        call = call._replace(arguments=CallArguments(rest, given.named))
    for value in call.values(command):
        call.run_value(value)
        if isinstance(value, tuple) and value and "shell" in given.named:
            call.run_text(value[0])


def run_program(call: HostCall, program: Argument, rest: Argument = ()) -> None:
    """Run a program with a list of words or a text of them; alone, it may be a command line."""
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
    """Run the arguments from one on as words; `skip` leaves out argv[0], `auto` reads a single one
    as shell text, `map` skips an environment."""
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
    """Run `execv(program, argv)`: the list's first word is only the name that the program sees."""
    for path in call.texts(program):
        for items in call.lists(argv) or [()]:
            is_known = bool(items) and not marks.splits(items[0])
            call.run((path, *items[is_known:]))


def run_named(call: HostCall, first: int) -> None:
    """Run a function called like its program: its name from one segment on is words, `_` stands for
    `-`, and an argument `force=True` for `--force`."""
    name = [word.replace("_", "-") for word in call.name.split(".")[first:]]
    for argv in call.screening.words_of(call.arguments.positional):
        call.run((*name, *_options(call), *argv))


def _options(call: HostCall) -> list[str]:
    """Return the options that `force=True`, `{force: true}` and `.setForce(true)` stand for."""
    return [
        f"-{key}" if len(key) == 1 else f"--{key.removeprefix('set').lower().replace('_', '-')}"
        for key, node in call.arguments.named.items()
        if key[0] != "_" and (node.text or b"").lower() in (b"true", b"null", b"nil")
    ]


def run_prefixed(call: HostCall, words: str) -> None:
    """Run the arguments after the words of one command: `remote.push("-f")`, `git push -f`."""
    for argv in call.screening.words_of(call.arguments.positional):
        call.run((*words.split("_"), *_options(call), *argv))


def run_tokens(call: HostCall) -> None:
    """Run a macro whose tokens are a command line: `run_cmd!(rm -rf build)`."""
    call.run_text(text_of(call.node).partition("(")[2].rstrip(")"))


def run_each(call: HostCall) -> None:
    """Run each argument as a separate command."""
    for node in call.arguments.positional:
        for value in call.screening.folder.values(node):
            call.run_value(value)


def run_built(call: HostCall, first: int) -> None:
    """Run words from one argument on, with those that chained calls add."""
    for head in call.screening.words_of(call.arguments.positional[first:]):
        for added in call.screening.chain_words(call.node):
            call.run((*head, *added))


def start(call: HostCall, program: Argument, rest: Argument) -> None:
    """Start .NET's way: a file name with one text of arguments, or with a list of them."""
    names = call.screening.folder.references(call.target(program))
    if any("ProcessStartInfo" in name for name in names):
        return  # the info's values are judged where it is filled
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
    """Run Elixir's `Port.open({:spawn, text}, opts)` or `{:spawn_executable, path}, args: list`."""
    for kind, *words in (value for value in call.lists((0,)) if value):
        if kind in (":spawn", "spawn"):
            call.run_text(" ".join(words))
        elif words:
            for items in call.lists(("args",)) or [()]:
                call.run((words[0], *items))


STARTING_ACTS: dict[str, Act] = {
    "shell": run_shell, "argv": run_argv, "auto": run_auto, "program": run_program,
    "varargs": run_varargs, "program_argv": run_program_argv, "named": run_named,
    "prefixed": run_prefixed, "each": run_each, "tokens": run_tokens, "builder": run_built,
    "start": start, "port": open_port,
}  # fmt: skip
