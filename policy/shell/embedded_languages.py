"""Programs with a language of their own: the calls of it that matter, as patterns.

Less is seen than of the languages with a grammar: the command, or the file, has to stand in the
call as one text. From the programs' manuals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from base.wordlist import words
from policy.shell.call import ProgramCall, index_of
from policy.shell.options import Parsed, parse
from policy.shell.redirections import file_text

_STRING = r"\s*[(]?\s*\[?\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')"


class Embedded(NamedTuple):
    """`code` options carry program text; behind a `-` those that are words behind one dash.

    The first filled group of each pattern is a command that it `runs`, or a file that it `reads`
    or `writes`: without one, those that are open. The first of `reads` opens the file. The first
    operand is a `script`, or all are program `text`, or files: with `files` stdin is no program
    text, with `open` it is. One that `embeds` others has commands that take their code.
    """

    code: str = ""
    runs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    operands: Literal["script", "text", "files", "open"] = "script"
    embeds: bool = False


def _calls(names: str) -> str:
    """Calls of these functions with a text."""
    return rf"(?<![\w.])(?:{'|'.join(map(re.escape, names.split()))})" + _STRING


_TCL = (
    r"(?:^|[;\n{\[])[ \t]*(?:exec|spawn|system)\s+(?:-\w+\s+)*([^;\n\]}]+)",
    r"open\s+[\"{]\s*\|\s*([^\"}]+)",
)
_LISP = (r"\((?:system\*?|shell|sh|run-program|uiop:run-program|process)" + _STRING,)
_POWERSHELL = (r"(?:^|[;|\n{(&])[ \t]*([A-Za-z./][^;|\n{}()&]*)",)
_SILENTLY = r"[ \t:]*(?:sil\w*!?[ \t]+)?"
_HOOK = r"(?i)^[\w:-]*(?:pre|post)-(?:invoke|install-pkgs)[\w:-]*=(.*)"
_ACTION = r"(?:execute|execute-silent|become|reload|reload-sync|preview|transform[\w-]*)"

_ROWS: dict[str, Embedded] = {
    "tclsh wish": Embedded("", _TCL), "expect": Embedded("c", _TCL),
    "julia": Embedded("e E eval print", (r"`([^`]*)`",)),
    "osascript": Embedded("e", (r"do\s+(?:shell\s+)?script" + _STRING,)),
    "groovy": Embedded("e", (r"[\"']([^\"']*)[\"']\s*\.\s*execute\s*\(",)),
    "scala": Embedded("e", (r"\"([^\"]*)\"\s*\.?\s*!+",)), "guile": Embedded("c", _LISP),
    "racket sbcl clojure bb": Embedded("e eval M", _LISP),
    "erl": Embedded("-eval", (_calls("os:cmd open_port"),)),
    "octave": Embedded("eval", (_calls("system unix dos popen shell_cmd"),)),
    "matlab": Embedded("-batch r", (_calls("system unix dos"), r"(?:^|;)\s*!([^\n;]*)")),
    "gnuplot": Embedded("e", (_calls("system"), r"(?m)^[ \t]*!(.*)", r"`([^`]*)`")),
    "bpftrace": Embedded("e", (_calls("system"),)),
    "dc": Embedded("e expression", (r"!([^\n<>=].*)",)),
    "m4": Embedded("", (r"(?:syscmd|esyscmd)\(\s*[`\[]*([^')\]]*)",)),
    "raku": Embedded("e", (_calls("shell run"), r"qx?x[{/(]([^})/]*)")),
    "crystal": Embedded("", (_calls("system"), r"`([^`]*)`")),
    "ocaml": Embedded("e", (_calls("Sys.command Unix.system Unix.open_process_in"),)),
    "ghc ghci": Embedded("e", (_calls("system callCommand readProcess callProcess"),
                               r":!\s*(.*)")),
    "lftp ftp": Embedded("c e", (r"(?:^|[;\n])[ \t]*!(.*)",)),
    "pwsh powershell": Embedded("-Command c -command", _POWERSHELL),
    # Their input is commands, as it stands or a line at a time
    "at batch su": Embedded("", (r"(?s)(.+)",), operands="open"),
    "crontab": Embedded("", (r"(?m)^[ \t]*(?:@\w+|[^#\s]\S*(?:[ \t]+\S+){4})[ \t]+(.*)",)),
    # Editors and pagers
    "ed": Embedded(
        "", (r"(?m)^[ \t]*(?:[\d,$.%]*[ \t]*[rwe][ \t]*)?!(.*)",),
        (r"(?m)^[ \t]*[eE][ \t]+([^!\s]\S*)", r"(?m)^[ \t]*[\d,$.%]*[ \t]*r[ \t]+([^!\s]\S*)"),
        (r"(?m)^[ \t]*[\d,$.%]*[ \t]*[wW]q?(?:[ \t]+([^!\s]\S*))?[ \t]*$",), operands="open",
    ),
    "ex vim nvim vi view gvim": Embedded(
        "c cmd",
        (rf"(?m)^{_SILENTLY}(?:exe\w*\s+[\"'])?(?:[\d,$.%]*\s*[rw]?\w*\s*!|ter\w*\s)(.*)",
         r"\b(?:system|systemlist|termopen|jobstart)\(\s*(?:'([^']*)'|\"([^\"]*)\")"),
        (r"(?m)^[ \t:]*(?:e|edit|sp|vs|tabe)\w*\s+([^!\s]\S*)",
         r"(?m)^[ \t:]*r(?:ead)?\s+([^!\s]\S*)"),
        (rf"(?m)(?:^|\|){_SILENTLY}(?:w|wq|wqa|wa|wall|x|xa|xit|exi\w*|up\w*|sav\w*)!?"
         r"(?:[ \t]+([^\s|!]+))?[ \t]*(?=\||$)",), operands="open", embeds=True,
    ),
    "emacs emacsclient": Embedded(
        "eval execute f funcall",
        (r"\((?:async-)?shell-command(?:-to-string)?\s+\"((?:[^\"\\]|\\.)*)\"",
         r"\((?:call-process|start-process|process-lines)\b([^)]*)\)"),
        (r"\(find-file\s+\"([^\"]*)\"",
         r"\((?:insert-file-contents|load-file|load)\s+\"([^\"]*)\""),
        (r"(?:^|\()(?:basic-)?save-", r"\(write-[^)]*?\"([^\"]*)\"[\w\s']*\)"), operands="files",
    ),
    "less more most pg zless zmore": Embedded("", (r"^\+?!(.*)",), operands="files"),
    # Databases: `.shell cmd` of sqlite3, `\\! cmd` of psql and mysql, `system cmd` of mysql
    "ansible": Embedded("a args", (), (r"\bsrc=(\S+)",), (r"\b(?:path|dest)=(\S+)",), "files"),
    "terraform tofu": Embedded("", (), (r"\b(?:file|templatefile)\w*\(\s*\"([^\"]+)",), (), "open"),
    "sqlite3 sqlite duckdb psql mysql mariadb": Embedded(
        "c e cmd command execute",
        (r"(?m)(?:^|;)[ \t]*(?:\.(?:shell|system)|\\!|system)\s+(.*)",
         r"(?i)\b(?:to|from)\s+program\s+'([^']*)'"),
        (r"(?im)^[ \t]*\\copy\s.*[ \t]from\s+'([^']*)'",
         r"(?i)\b(?:infile\s+|(?:pg_)?read_?\w*\(\s*\[?)'([^']*)'",
         r"(?m)^[ \t]*(?:\.(?:read|import|open)|\\ir?|source)\s+['\"]?([^\s'\"]+)"),
        (r"(?im)^[ \t]*(?:\.(?:output|once|backup|save)|\\[ogw])\s+(\S+)"
         r"|^[ \t]*\\copy\s.*[ \t]to\s+'([^']*)'",), operands="text",
    ),
    # An option or an operand that starts a command
    "gdb lldb": Embedded("ex eval-command iex o",
                         (r"^\s*(?:!|(?:platform )?shell\s+|pipe\s+\|?)(.*)",),
                         operands="files", embeds=True),
    "nc ncat netcat socat telnet": Embedded(
        "", (r"(?i)^(?:exec|system|shell):([^,]*)",), operands="text"),
    "tar gtar bsdtar": Embedded("checkpoint-action", ("^exec=(.*)",), operands="files"),
    "zip 7z 7za rar": Embedded("-TT", ("(.+)",), operands="files"),
    "apt apt-get aptitude": Embedded("o option", (_HOOK,), operands="files"),
    "gcc g++ cc c++ clang clang++": Embedded("-wrapper", ("([^,]+)",), operands="files"),
    "fzf sk": Embedded("bind", (rf"{_ACTION}(?:\((.*?)\)|\[(.*?)\]|:(.*))",), operands="files"),
}  # fmt: skip
LANGUAGES = {name: language for names, language in _ROWS.items() for name in names.split()}
# A command whose argument is code in another language, as of gdb and vim.
_EMBEDDED = r"(?m)^[ \t:]*(lua|py|python|ruby|perl|script)\d?\s+(.*)"


def run_language(call: ProgramCall) -> str | None:
    """Run and report what the program text starts and opens."""
    known = LANGUAGES[call.name]
    names = tuple(name.lstrip("-") for name in words(known.code))
    long = [name for name in names if len(name) > 1]
    parsed = parse(
        call.argv,
        call.program.short + "".join(name for name in names if len(name) == 1),
        [*long, *words(call.program.long)],
        long_with_one_dash=call.program.long_with_one_dash or known.code[:1] == "-",
    )
    sources = list(_sources(call, known, parsed, names))
    files = [word for _, word in parsed.operands if word[:1] != "+"]
    opened = [name for source in sources for name in _find(known.reads[:1], source)]
    for source in sources:
        call.report_files(*_find(known.reads, source))
        for text in _find(known.runs, source):
            call.run_text(text.replace('\\"', '"'), f"{call.name} code")
        for name in _find(known.writes, source):
            call.report_files(*([name] if name else [*files, *opened]), is_write=True)
        for name, code in re.findall(_EMBEDDED, source) if known.embeds else ():
            language = name if name in ("lua", "ruby", "perl") else "python"
            call.walker.run_code(language, code, call.state.copy(), call.inside())
    if (index := index_of(call.argv, "--args", "-args")) is not None:
        call.run(call.argv[index + 1 :])
    return None


def _sources(
    call: ProgramCall, known: Embedded, parsed: Parsed, names: tuple[str, ...]
) -> Iterator[str]:
    """The texts in the program's language: option values, operands, stdin."""
    given = [*parsed.values(names)]
    operands = [word for _, word in parsed.operands]
    given += [word[1:] for word in operands if word[:1] == "+"]  # `vim +cmd`
    if known.operands == "text":
        given += operands
    elif known.operands == "script" and operands and not given:
        given.append(file_text(operands[0], call.state, call.frame))
    takes_stdin = known.operands in ("text", "open") or (known.operands == "script" and not given)
    yield from given
    if takes_stdin and call.frame.stdin is not None:
        yield call.frame.stdin


def _find(patterns: tuple[str, ...], source: str) -> Iterator[str]:
    """The first filled group of every match, "" where none is."""
    for pattern in patterns:
        for match in re.finditer(pattern, source):
            yield next((group for group in match.groups() if group), "")
