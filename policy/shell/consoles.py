"""Editors, pagers and database clients: their own commands can start programs and open files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.shell.call import Call, Runner

_VIM_OPENS = re.compile(r":?\s*(?:e|r|read|edit|sp|vs|tabe)\w*\s+(\S+)")
_VIM_SHELLS = re.compile(
    r":?\s*(?:sil\w*!?\s+)?(?:exe\w*\s+[\"'])?(?:[\d,.$%]*\s*[rw]?\w*\s*!|ter\w*\s)(.*)", re.DOTALL
)
_VIM_SAVES = re.compile(
    r"(?:^|\|)\s*:?(?:sil\w*!?\s+)?(?:w|wq|wqa|wa|wall|x|xa|xit|exi\w*|up\w*|sav\w*)!?"
    r"(?:\s+([^\s|!]+))?\s*(?=\||$)"
)
_VIM_LANGUAGES = {"lua": "lua", "python": "python", "py": "python", "py3": "python",
                  "python3": "python", "ruby": "ruby", "perl": "perl"}  # fmt: skip
_VIM_CODE = re.compile(r":?\s*(\w+)\s+(.*)", re.DOTALL)
_CALLS_SYSTEM = re.compile(
    r"\b(?:system|systemlist|termopen|jobstart)\(\s*(['\"])(.*?)\1", re.DOTALL
)
_LISP_SHELL = re.compile(r"\((?:async-)?shell-command(?:-to-string)?\s+\"((?:[^\"\\]|\\.)*)\"")
_LISP_PROCESS = re.compile(r"\((?:call-process|start-process|process-lines)\b([^)]*)\)")
_LISP_OPENS = re.compile(r"\((?:find-file|insert-file-contents|load-file|load)\s+\"([^\"]*)\"")
# `.shell cmd` of sqlite3, `\! cmd` of psql and mysql, `system cmd` of mysql
_CONSOLE_SHELLS = re.compile(r"(?m)(?:^|;)\s*(?:\.(?:shell|system)|\\!|system)\s+(.*)")
_CONSOLE_PROGRAMS = re.compile(r"(?i)\b(?:to|from)\s+program\s+'([^']*)'")
_CONSOLE_SAVES = re.compile(
    r"(?im)^\s*(?:\.(?:output|once|backup|save)|\\[ogw])\s+(\S+)|^\s*\\copy\s.*\sto\s+'([^']*)'"
)
_CONSOLE_LOADS = re.compile(
    r"(?im)^\s*\\copy\s.*\sfrom\s+'([^']*)'|\binfile\s+'([^']*)'|\breadfile\('([^']*)'\)"
)
_CONSOLE_OPENS = re.compile(r"(?m)^\s*(?:\.(?:read|import|open)|\\ir?|source)\s+(\S+)")


def _vim(call: Call) -> str | None:
    commands = [*call.parsed.values(("c", "cmd")), *(w[1:] for w in call.argv[1:] if w[:1] == "+")]
    if call.name == "ex" or call.parsed.has("e", "E", "s"):
        commands += (call.frame.stdin or "").splitlines()
    files = [word for word in call.operands() if word[0] != "+"]
    for command in commands:
        for saved in _VIM_SAVES.finditer(command):
            call.report_files(*([saved[1]] if saved[1] else files), is_write=True)
        if shelled := _VIM_SHELLS.match(command):
            call.run_text(shelled[1], "vim !")
        elif opened := _VIM_OPENS.match(command):
            call.report_files(opened[1])
        elif (code := _VIM_CODE.match(command)) and code[1] in _VIM_LANGUAGES:
            language = _VIM_LANGUAGES[code[1]]
            call.walker.run_code(
                language, code[2], call.state.copy(), call.inside(f"vim {code[1]}")
            )
        for started in _CALLS_SYSTEM.finditer(command):
            call.run_text(started[2], "vim system()")
    return None


def _emacs(call: Call) -> str | None:
    for lisp in call.parsed.values(("eval", "execute")):
        for shelled in _LISP_SHELL.finditer(lisp):
            call.run_text(shelled[1], "emacs shell-command")
        for started in _LISP_PROCESS.finditer(lisp):
            call.run(re.findall(r'"([^"]*)"', started[1]))
        for opened in _LISP_OPENS.finditer(lisp):
            call.report_files(opened[1])
        if re.search(r"\((save-|write-|basic-save)", lisp):
            call.report_files(*call.operands(), *re.findall(r'"([^"]*)"', lisp), is_write=True)
    return None


def _pager(call: Call) -> str | None:
    for word in call.argv[1:]:
        if shelled := re.match(r"\+\+?!(.*)", word, re.DOTALL):
            call.run_text(shelled[1], f"{call.name} !")
    return None


def _database(call: Call) -> str | None:
    for text in _statements(call):
        for shelled in _CONSOLE_SHELLS.finditer(text):
            call.run_text(shelled[1], f"{call.name} shell")
        for started in _CONSOLE_PROGRAMS.finditer(text):
            call.run_text(started[1], f"{call.name} program")
        for saved in _CONSOLE_SAVES.finditer(text):
            call.report_files(saved[1] or saved[2], is_write=True)
        for loaded in _CONSOLE_LOADS.finditer(text):
            call.report_files(loaded[1] or loaded[2] or loaded[3])
        for opened in _CONSOLE_OPENS.finditer(text):
            call.report_files(opened[1].strip("'\""))
    return None


def _statements(call: Call) -> Iterator[str]:
    yield from call.parsed.values(("c", "e", "cmd", "command", "execute"))
    yield from call.operands()[1:]
    if call.frame.stdin is not None:
        yield call.frame.stdin


RUNNERS: dict[str, Runner] = {
    "vim": _vim,
    "emacs": _emacs,
    "pager": _pager,
    "database": _database,
}
