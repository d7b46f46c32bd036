"""Interpreters as data: how each takes its program on the command line."""

import functools
from typing import NamedTuple

from policy.wordlist import word_set

SHELLS = word_set("sh bash zsh dash ksh")


class Interpreter(NamedTuple):
    """`code` options carry program text in `language`; `values` are other options with a value.

    Options in `modules` name an installed module, so no operand is a script.
    `subcommands` of the program take code (`eval`) or only come before a script (`run`).
    """

    language: str
    code: str = ""
    code_long: str = ""
    values: str = ""
    values_long: str = ""
    modules: str = ""
    eval_command: str = ""
    run_command: str = ""


INTERPRETERS: dict[str, Interpreter] = {
    "python": Interpreter("python", "c", values="WXQm", values_long="check-hash-based-pycs",
                          modules="m"),
    "node": Interpreter("javascript", "ep", "eval print", "rC", "require import loader "
                        "experimental-loader conditions env-file input-type inspect title"),
    "bun": Interpreter("javascript", "ep", "eval print", "r", "preload env-file",
                       run_command="run"),
    "deno": Interpreter("javascript", values_long="config import-map env-file", eval_command="eval",
                        run_command="run"),
    "tsx": Interpreter("typescript", "ep", "eval print"),
    "ts-node": Interpreter("typescript", "ep", "eval print", "P", "project"),
    "ruby": Interpreter("ruby", "e", values="rICEFKTWx"),
    "perl": Interpreter("perl", "eE", values="IMmF"),
    "php": Interpreter("php", "rBR", "run", "cdfFtzES", "define file"),
    "Rscript": Interpreter("r", "e", values="g"),
    "R": Interpreter("r", "e", values="fdgr", values_long="file args"),
    "lua": Interpreter("lua", "e", values="l"), "luajit": Interpreter("lua", "e", values="lj"),
    "elixir": Interpreter("elixir", "e", "eval rpc-eval", "rS", "name sname cookie require"),
    "irb": Interpreter("ruby", values="rI"),
}  # fmt: skip

# Programs of frameworks: the language of their console, and what comes before code for it.
CONSOLES = {
    "rails": ("ruby", "runner", "r"), "artisan": ("php", "--execute"), "wp": ("php", "eval"),
    "manage.py": ("python", "-c", "--command"), "drush": ("php", "php:eval", "ev", "eval"),
    "mix": ("elixir", "-e", "--eval"), "iex": ("elixir", "-e", "--eval"),
}  # fmt: skip

# Those whose names may carry a version, and the row of each.
_VERSIONED = {"pypy": "python", "ipython": "python", "nodejs": "node", "zx": "node"} | {
    name: name for name in ("python", "ruby", "perl", "php", "lua", "node")
}


@functools.lru_cache(maxsize=1024)
def interpreter(name: str) -> Interpreter | None:
    """The interpreter a program name stands for, whatever version it carries."""
    family = _VERSIONED.get(name.rstrip("0123456789."), name)
    return INTERPRETERS.get(family)
