"""What calls do that open files, run code, or call other functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from policy import marks
from policy.host.arguments import Argument
from policy.host.call import Act, HostCall

if TYPE_CHECKING:
    from tree_sitter import Node


def run_code(call: HostCall, language: str, code: Argument, known: bool = False) -> None:
    """The text is code; a block or a function is read where it stands. With `known`, what is
    not known is taken for a function, too."""
    target = call.target(code)
    if target is not None and target.type not in _BLOCKS:
        for text in call.texts(code):
            if not (known and marks.is_only_hole(text)):
                call.run_code(language, text)


_BLOCKS = frozenset(("block", "do_block", "lambda", "function", "block_argument"))


def run_tagged(call: HostCall, template: Argument) -> None:
    """The template is run by a shell; called in any other way the name is somebody else's."""
    target = call.target(template)
    if target is not None and target.type == "template_string":
        for text in call.texts(template):
            call.run_text(text)


def source(call: HostCall, language: str, path: Argument) -> None:
    """A file or an address whose content is run as code."""
    for text in call.texts(path):
        if "://" in text or marks.taint(text):
            call.run_code(language, marks.FETCHED)
    read(call, path)


def read(call: HostCall, path: Argument) -> None:
    """The file, or every file of a list, is read."""
    for file in call.paths(path):
        call.use_file(file)


def load(call: HostCall, path: Argument) -> None:
    """A module is read, where it is named by a path."""
    for file in call.paths(path):
        call.load(file)


def write(call: HostCall, path: Argument) -> None:
    """The file is written."""
    for file in call.paths(path):
        call.use_file(file, is_write=True)


def open_file(call: HostCall, path: Argument, mode: Argument) -> None:
    """The file is opened as a mode says: `r`, `w+`, or names such as `O_WRONLY`."""
    texts = call.texts(mode)
    node = call.target(mode)
    written = (node.text or b"") if node is not None else b""
    is_write = any(set(text) & set("wax+>") for text in texts if marks.is_known(text))
    is_write = is_write or _WRITES.search(written) is not None
    for file in call.paths(path):
        call.use_file(file, is_write=is_write)


# What modes are called that write; `inplace=True`, and the calls on Rust's `OpenOptions`.
_WRITES = re.compile(rb"WRONLY|RDWR|CREAT|Write|Create|Append|Truncate|True|(write|append)\(true")


def load_dotenv(call: HostCall, path: Argument) -> None:
    """Loaders that read `.env` where no path is given."""
    if call.target(path) is None:
        call.use_file(".env")
    read(call, path)


def read_or_run(call: HostCall, path: Argument) -> None:
    """A file's path, or with a space in it a command whose output is read."""
    for text in call.texts(path):
        if " " in text.strip():
            call.run_text(text)
        else:
            call.use_file(text)


def open_perl(call: HostCall) -> None:
    """`open(F, "cmd |")`, `open(F, "-|", "cmd", args)`, `open(F, "<", path)`."""
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
    """Ruby's `open("|cmd")`; anything else is a file."""
    texts = call.texts(path)
    for text in texts:
        if text.startswith("|"):
            call.run_text(text[1:])
    if not all(text.startswith("|") for text in texts):
        open_file(call, path, mode)


def change_folder(call: HostCall, folder: Argument) -> None:
    """Relative paths are seen from there on from another folder."""
    state = call.screening.state
    for path in [*call.paths(folder)][:1]:
        is_whole = path.startswith("/") or marks.has_hole(path)
        state.cwd = path if is_whole else f"{state.cwd}/{path}"


def apply(call: HostCall, function: Argument, rest: Argument = ()) -> None:
    """The function in one argument is called with the rest, or with the words of a list."""
    folder = call.screening.folder
    refs = list(folder.references(call.target(function)))
    for text in call.texts(function):
        if marks.is_known(text):  # `Kernel.send(:exec, ...)`: a name on the receiver
            name = text.lstrip(":")
            owners = folder.references(call.target(("self",)))
            refs += [name, *(f"{owner}.{name}" for owner in owners)]
    for ref in dict.fromkeys(refs):
        recipes = call.screening.tree.language.recipes(ref)
        if not any(recipe.act is apply for recipe in recipes):
            call.apply(ref, _pass_on(call, function[0], rest), call.arguments.named)


def _pass_on(call: HostCall, first: int | str, rest: Argument) -> list[Node]:
    if not rest:
        given = call.arguments.positional
        return given[first + 1 :] if isinstance(first, int) else given
    group = call.arguments.get(*rest)
    return call.screening.list_items(group) if group is not None else []


def apply_module(call: HostCall) -> None:
    """`apply(Module, :function, arguments)`."""
    group = call.target((2,))
    if group is not None:
        passed = call.screening.folder.reader.children(group)
        for module in call.screening.folder.references(call.target((0,))):
            for function in call.texts((1,)):
                call.apply(f"{module}.{function}", passed, {})


ACTS: dict[str, Act] = {
    "eval": run_code, "tagged": run_tagged,
    "source": source, "read": read, "load": load, "write": write, "open": open_file,
    "dotenv": load_dotenv, "read_or_shell": read_or_run, "perl_open": open_perl,
    "pipe_open": open_or_run, "chdir": change_folder, "apply": apply,
    "apply_elixir": apply_module,
}  # fmt: skip
