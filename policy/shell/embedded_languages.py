"""Programs with a language of their own: the calls of it that matter, as patterns.

Less is seen than of the languages with a grammar: the command, or the file, has to stand in the
call as one text. From the programs' manuals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from base.wordlist import read_rows, words
from policy.shell.call import ProgramCall, index_of
from policy.shell.options import Parsed, parse
from policy.shell.redirections import file_text

_STRING = r"\s*[(]?\s*\[?\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')"


def _gather_fields(fields: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found = dict.fromkeys(
        ("code", "runs", "reads", "writes", "operands", "embeds"), tuple[str, ...]()
    )
    for field in fields:
        name, value = field.split(" ", 1)
        found[name] += (value.replace("<text>", _STRING),)
    return found


LANGUAGES = {
    name: _gather_fields(fields)
    for names, *fields in read_rows(__file__, "embedded_languages.txt")
    for name in names.split()
}
"""The fields of each program's language, as `embedded_languages.txt` explains them."""

# A command whose argument is code in another language, as of gdb and vim.
_EMBEDDED = r"(?m)^[ \t:]*(lua|py|python|ruby|perl|script)\d?\s+(.*)"


def run_language(call: ProgramCall) -> str | None:
    """Run and report what the program text starts and opens."""
    known = LANGUAGES[call.name]
    code = " ".join(known["code"])
    names = tuple(name.lstrip("-") for name in words(code))
    long = [name for name in names if len(name) > 1]
    parsed = parse(
        call.argv,
        call.program.short + "".join(name for name in names if len(name) == 1),
        [*long, *words(call.program.long)],
        long_with_one_dash=call.program.long_with_one_dash or code[:1] == "-",
    )
    sources = list(_sources(call, "".join(known["operands"]) or "script", parsed, names))
    files = [word for _, word in parsed.operands if word[:1] != "+"]
    opened = [name for source in sources for name in _find(known["reads"][:1], source)]
    for source in sources:
        call.report_files(*_find(known["reads"], source))
        for text in _find(known["runs"], source):
            call.run_text(text.replace('\\"', '"'), f"{call.name} code")
        for name in _find(known["writes"], source):
            call.report_files(*([name] if name else [*files, *opened]), is_write=True)
        for name, code in re.findall(_EMBEDDED, source) if known["embeds"] else ():
            language = name if name in ("lua", "ruby", "perl") else "python"
            call.walker.run_code(language, code, call.state.copy(), call.inside())
    if (index := index_of(call.argv, "--args", "-args")) is not None:
        call.run(call.argv[index + 1 :])
    return None


def _sources(call: ProgramCall, kind: str, parsed: Parsed, names: tuple[str, ...]) -> Iterator[str]:
    """The texts in the program's language: option values, operands, stdin."""
    given = [*parsed.values(names)]
    operands = [word for _, word in parsed.operands]
    given += [word[1:] for word in operands if word[:1] == "+"]  # `vim +cmd`
    if kind == "text":
        given += operands
    elif kind == "script" and operands and not given:
        given.append(file_text(operands[0], call.state, call.frame))
    takes_stdin = kind in ("text", "open") or (kind == "script" and not given)
    yield from given
    if takes_stdin and call.frame.stdin is not None:
        yield call.frame.stdin


def _find(patterns: tuple[str, ...], source: str) -> Iterator[str]:
    """The first filled group of every match, "" where none is."""
    for pattern in patterns:
        for match in re.finditer(pattern, source):
            yield next((group for group in match.groups() if group), "")
