"""Interpreters that are not screened as a language: the calls that start a command, as patterns.

Less is seen than of the languages with a grammar: the command has to stand in the call as one text.
From the languages' manuals.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from policy.shell.call import Call, Runner
from policy.shell.options import parse
from policy.shell.redirections import file_text
from policy.wordlist import words

_STRING = r"\s*[(]?\s*\[?\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')"


class Language(NamedTuple):
    """`code` options carry program text; each of `starts` has a command in its first filled group.

    `reads_stdin` says that without an operand the program comes from there.
    """

    code: str
    starts: tuple[str, ...]
    reads_stdin: bool = True


def _calls(names: str) -> str:
    """Calls of these functions with a text."""
    return rf"(?<![\w.])(?:{'|'.join(map(re.escape, names.split()))})" + _STRING


_TCL = (r"(?:^|[;\n{\[])\s*exec\s+([^;\n\]}]+)", r"open\s+[\"{]\s*\|\s*([^\"}]+)")
_LISP = (r"\((?:system\*?|shell|sh|run-program|uiop:run-program|process)" + _STRING,)

LANGUAGES: dict[str, Language] = {
    "tclsh": Language("", _TCL),
    "wish": Language("", _TCL),
    "julia": Language("e E eval print", (r"`([^`]*)`",)),
    "osascript": Language("e", (r"do\s+(?:shell\s+)?script" + _STRING,)),
    "groovy": Language("e", (r"[\"']([^\"']*)[\"']\s*\.\s*execute\s*\(",)),
    "scala": Language("e", (r"\"([^\"]*)\"\s*\.?\s*!+",)),
    "guile": Language("c", _LISP),
    "racket": Language("e eval", _LISP),
    "sbcl": Language("eval", _LISP),
    "clojure": Language("e eval M", _LISP),
    "bb": Language("e", _LISP),
    "erl": Language("eval", (_calls("os:cmd open_port"),), False),
    "octave": Language("eval", (_calls("system unix dos popen shell_cmd"),)),
    "matlab": Language("batch r", (_calls("system unix dos"), r"(?:^|;)\s*!([^\n;]*)"), False),
    "gnuplot": Language("e", (_calls("system"), r"(?m)^\s*!(.*)", r"`([^`]*)`")),
    "bpftrace": Language("e", (_calls("system"),), False),
    "dc": Language("e expression", (r"!([^\n<>=].*)",)),
    "m4": Language("", (r"(?:syscmd|esyscmd)\(\s*[`\[]*([^')\]]*)",)),
    "raku": Language("e", (_calls("shell run"), r"qx?x[{/(]([^})/]*)")),
    "crystal": Language("", (_calls("system"), r"`([^`]*)`")),
    "ocaml": Language("e", (_calls("Sys.command Unix.system Unix.open_process_in"),)),
    "ghc": Language("e", (_calls("system callCommand readProcess callProcess"), r":!\s*(.*)")),
    "ghci": Language("e", (_calls("system callCommand callProcess"), r"(?m)^\s*:!\s*(.*)")),
    "lftp": Language("c e", (r"(?:^|[;\n])\s*!(.*)",)),
    "ftp": Language("", (r"(?:^|\n)\s*!(.*)",)),
    "pwsh": Language("Command c command", (r"(?:^|[;|\n{(&])\s*([A-Za-z./][^;|\n{}()&]*)",)),
    "powershell": Language("Command c command", (r"(?:^|[;|\n{(&])\s*([A-Za-z./][^;|\n{}()&]*)",)),
}


def _language(call: Call) -> str | None:
    known = LANGUAGES[call.name]
    names = words(known.code)
    short = "".join(name for name in names if len(name) == 1)
    long = [name for name in names if len(name) > 1]
    parsed = parse(call.argv, short, long, long_with_one_dash=bool(long))
    sources = list(parsed.values(names))
    operands = [word for _, word in parsed.operands]
    if operands and not sources:
        sources.append(file_text(operands[0], call.state, call.frame))
    elif not sources and known.reads_stdin and call.frame.stdin is not None:
        sources.append(call.frame.stdin)
    for source in sources:
        for pattern in known.starts:
            for match in re.finditer(pattern, source):
                text = next((group for group in match.groups() if group), "")
                call.run_text(text.replace('\\"', '"'), f"{call.name} code")
    return None


RUNNERS: dict[str, Runner] = {"language": _language}
