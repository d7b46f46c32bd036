"""Programs with an embedded language: its relevant calls, as patterns.

Less is seen than of the languages with a grammar: the command, or the file, must be in the call as
one text. From the programs' manuals.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from base.wordlist import words
from policy import marks
from policy.paths import resolve
from policy.shell.call import ProgramCall, index_of
from policy.shell.file_texts import STDIN_PATHS, file_text
from policy.shell.options import TABLES, Parsed, by_name, parse
from policy.shell.syntax import unescape

_SED_SUBSTITUTE = re.compile(
    r"s(?P<d>[^\w\s\\])(?:\\.|(?!(?P=d)).)*(?P=d)"
    r"(?P<new>(?:\\.|(?!(?P=d)).)*)(?P=d)(?P<flags>[gpiImMe0-9]*)",
    re.DOTALL,
)
_SED_EXECUTE = re.compile(r"(?:^|[;{}\n]|\d|\$|/[IM]?|!)\s*e(?:\s+([^\n;}]+)|\s*(?=$|[;}\n]))")
_SED_FILE = re.compile(r"(?:^|[;{}\n]|\d|\$|/)\s*([rRwW])(?:\s+|(?=[./]))([^\n;}]+)")
_AWK_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|[\w$]+|\|\||&&|\|&|>>|\n|[^\s\w"]')
_SHELL = re.compile(r"(?:/\S*/)?(?:ba|da|z|k|a)?sh(?:\s+-\w+)*")
_AWK_ENDS = frozenset((";", "{", "}", "\n", "&&", "||"))


def find_sed_commands(script: str) -> Iterator[str]:
    """Yield the commands that GNU sed's `e` command and the `e` flag of `s` would run."""
    rest = []
    last = 0
    for match in _SED_SUBSTITUTE.finditer(script):
        rest.append(script[last : match.start()])
        last = match.end()
        if "e" in match["flags"]:
            yield re.sub(r"\\[0-9]|(?<!\\)&", marks.LIST, match["new"])
    rest.append(script[last:])
    for match in _SED_EXECUTE.finditer("\n".join(rest)):
        yield match[1] or marks.LIST


def awk_commands(program: str) -> Iterator[str]:
    """Yield the commands of `system()` and awk's pipes; only string literals are known."""
    tokens = _awk_tokens(program)
    prints = False
    for index, piece in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if piece in _AWK_ENDS:
            prints = False
        prints |= piece in ("print", "printf")
        if piece == "system" and following == "(":
            yield _awk_text(_read_enclosed(tokens, index + 1))
        elif piece in ("|", "|&") and following == "getline":
            yield _awk_text(_statement_before(tokens, index))
        elif piece in ("|", "|&") and (prints or following[:1] == '"'):
            started = _awk_text(_statement_after(tokens, index))
            is_shell = prints and _SHELL.fullmatch(started.strip())
            yield _awk_text(_statement_before(tokens, index)[1:]) if is_shell else started


def _awk_tokens(program: str) -> list[str]:
    """Return the tokens; names that are given one plain text are replaced by it."""
    tokens = _AWK_TOKEN.findall(program)
    given: dict[str, set[str]] = {}
    for index in range(1, len(tokens) - 1):
        if tokens[index] == "=" and tokens[index - 1].isidentifier():
            given.setdefault(tokens[index - 1], set()).add(tokens[index + 1])
    known = {
        name: text
        for name, texts in given.items()
        if len(texts) == 1 and (text := min(texts))[:1] == '"'
    }
    return [
        token if after == "=" else known.get(token, token)
        for token, after in itertools.zip_longest(tokens, tokens[1:])
    ]


def _read_enclosed(tokens: list[str], opening: int) -> list[str]:
    level = 0
    for index in range(opening, len(tokens)):
        level += (tokens[index] == "(") - (tokens[index] == ")")
        if level == 0:
            return tokens[opening + 1 : index]
    return tokens[opening + 1 :]


def _statement_before(tokens: list[str], end: int) -> list[str]:
    start = end
    while start and tokens[start - 1] not in _AWK_ENDS and tokens[start - 1] not in ("(", "while"):
        start -= 1
    return tokens[start:end]


def _statement_after(tokens: list[str], start: int) -> list[str]:
    end = start + 1
    while end < len(tokens) and tokens[end] not in _AWK_ENDS:
        end += 1
    return tokens[start + 1 : end]


def find_sed_files(script: str) -> Iterator[tuple[str, bool]]:
    """Yield files that the commands `r`, `R`, `w` and `W` name, and whether they are written."""
    for command, path in _SED_FILE.findall(script):
        yield path.strip(), command in "wW"


def awk_files(program: str) -> Iterator[tuple[str, bool]]:
    """Yield files that the program itself reads or writes, and whether it writes them."""
    tokens = _awk_tokens(program)
    for index in range(len(tokens) - 1):
        if tokens[index] in ("<", ">", ">>") and tokens[index + 1][:1] == '"':
            yield unescape(tokens[index + 1][1:-1]), tokens[index] != "<"


def _awk_text(tokens: list[str]) -> str:
    """Return adjacent strings as one text; anything else in between is unknown."""
    pieces: list[str] = []
    for token in tokens:
        if token[:1] == '"':
            pieces.append(unescape(token[1:-1]))
        elif token[:1] not in ("(", ")", "#") and pieces[-1:] != [marks.LIST]:
            pieces.append(marks.LIST)
    return "".join(pieces)


def run_sed(call: ProgramCall) -> str | None:
    """Run the commands that sed's scripts start, and report the files that they open."""
    _run_scripts(call, find_sed_commands, find_sed_files)
    return None


def run_awk(call: ProgramCall) -> str | None:
    """Run the same for awk, where a variable on the command line may name a file, too."""
    _run_scripts(call, awk_commands, awk_files)
    values = call.parsed.values(("v", "assign"))
    call.report_files(*(value.partition("=")[2] for value in values))
    return None


def _run_scripts(
    call: ProgramCall,
    commands: Callable[[str], Iterator[str]],
    files: Callable[[str], Iterator[tuple[str, bool]]],
) -> None:
    for script in _own_scripts(call):
        for text in commands(script):
            call.run_text(text, f"{call.name} program")
        for path, is_write in files(script):
            call.report_files(path, is_write=is_write)


def _own_scripts(call: ProgramCall) -> Iterator[str]:
    """Yield the script texts on the command line: option values, else the first operand."""
    given = list(call.parsed.values(("e", "expression", "source")))
    for path in call.parsed.values(("f", "file")):
        text = file_text(call.walk, path)
        given += [text] if marks.is_known(text) else []
    if given or call.parsed.has("f", "file"):
        yield from given
    else:
        yield from call.operands()[:1]


def run_make(call: ProgramCall) -> str | None:
    """Run the targets of a makefile, and the shell that the command line names."""
    from policy.shell.project_files import run_targets  # noqa: PLC0415 - of these only make has one

    for word in call.operands():
        if word.startswith(("SHELL=", ".SHELLFLAGS=")):
            call.run_text(word.partition("=")[2])
    run_targets(call, "makefile")
    return None


def run_tee(call: ProgramCall) -> str | None:
    """Store text that is copied to a file, which can be run later."""
    for path in call.operands():
        resolved = call.state.resolve(path)
        call.state.files[resolved] = call.walk.stdin or marks.LIST
    return None


def run_dd(call: ProgramCall) -> str | None:
    """Store the input of `dd of=file`, which can be run from the file later."""
    given = dict(word.partition("=")[::2] for word in call.operands())
    call.report_files(given.get("if"))
    call.report_files(given.get("of"), is_write=True)
    text = call.walk.stdin or marks.LIST
    if "if" in given:
        text = file_text(call.walk, given["if"])
    if "of" in given:
        call.state.files[call.state.resolve(given["of"])] = text
    return text if "of" not in given else ""


def run_ln(call: ProgramCall) -> str | None:
    """Record a link, a copy or a new name with its original."""
    operands = call.operands()
    if len(operands) >= 2:
        link = call.state.resolve(operands[-1])
        if operands[0] in STDIN_PATHS:
            call.state.files[link] = call.walk.stdin or marks.LIST
            return None
        for operand in operands[:-1]:
            target = call.state.resolve(operand)
            call.state.links[f"{link}/{target.rsplit('/', 1)[-1]}"] = target
            if len(operands) == 2:
                call.state.links[link] = target
    elif operands and call.name == "ln":
        target = call.state.resolve(operands[0])
        call.state.links[resolve(target.rsplit("/", 1)[-1], call.state.cwd)] = target
    return None


def run_jq(call: ProgramCall) -> str | None:
    """Read `--rawfile name path`, `--slurpfile name path`; `load("path")` of yq."""
    call.report_files(*re.findall(r"\bload\w*\(\s*\"([^\"]+)", " ".join(call.argv)))
    for index, word in enumerate(call.argv[:-2]):
        if word in ("--rawfile", "--slurpfile"):
            call.report_files(call.argv[index + 2])
    return None


_STRING = r"\s*[(]?\s*\[?\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')"


LANGUAGES = by_name(TABLES["languages"])
"""The language of each program. `code` options carry program text; after a `-` those that are words
after one dash. The first filled group of each pattern is a command that it `runs`, or a file that
it `reads` or `writes`: without one, those that are open. The first of `reads` opens the file.
<text> is an argument in quotes. The first of the `operands` is a `script`, which is usual, or all
are program `text`, or files: with `files` stdin is not program text, with `open` it is. One that
`embeds` others has commands that take their code.
"""

# A command whose argument is code in another language, as of gdb and vim.
_EMBEDDED = r"(?m)^[ \t:]*(lua|py|python|ruby|perl|script)\d?\s+(.*)"


def run_language(call: ProgramCall) -> str | None:
    """Run and report what the program text starts and opens."""
    known = LANGUAGES[call.name]
    code, reads = known.get("code", ""), known.get("reads", ())
    names = tuple(name.lstrip("-") for name in words(code))
    long = [name for name in names if len(name) > 1]
    parsed = parse(
        call.argv,
        call.program.short + "".join(name for name in names if len(name) == 1),
        [*long, *words(call.program.long)],
        long_with_one_dash=call.program.long_with_one_dash or code[:1] == "-",
    )
    sources = list(_sources(call, known.get("operands", "script"), parsed, names))
    files = [word for _, word in parsed.operands if word[:1] != "+"]
    opened = [name for source in sources for name in _find(reads[:1], source)]
    for source in sources:
        call.report_files(*_find(reads, source))
        for text in _find(known.get("runs", ()), source):
            call.run_text(text.replace('\\"', '"'), f"{call.name} code")
        for name in _find(known.get("writes", ()), source):
            call.report_files(*([name] if name else [*files, *opened]), is_write=True)
        for name, code in re.findall(_EMBEDDED, source) if "embeds" in known else ():
            language = name if name in ("lua", "ruby", "perl") else "python"
            call.inside().run_code(language, code)
    if (index := index_of(call.argv, "--args", "-args")) is not None:
        call.run(call.argv[index + 1 :])
    return None


def _sources(call: ProgramCall, kind: str, parsed: Parsed, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts in the program's language: option values, operands, stdin."""
    given = [*parsed.values(names)]
    operands = [word for _, word in parsed.operands]
    given += [word[1:] for word in operands if word[:1] == "+"]  # `vim +cmd`
    if kind == "text":
        given += operands
    elif kind == "script" and operands and not given:
        given.append(file_text(call.walk, operands[0]))
    takes_stdin = kind in ("text", "open") or (kind == "script" and not given)
    yield from given
    if takes_stdin and call.walk.stdin is not None:
        yield call.walk.stdin


def _find(patterns: Sequence[str], source: str) -> Iterator[str]:
    """Yield the first filled group of every match, "" if none is."""
    for pattern in patterns:
        for match in re.finditer(pattern.replace("<text>", _STRING), source):
            yield next((group for group in match.groups() if group), "")
