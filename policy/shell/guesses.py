"""Guesses for programs without a row, by common conventions: reads, writes and runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from base.wordlist import word_set
from policy import marks
from policy.shell.call import ProgramCall
from policy.shell.file_texts import only_certain_effects
from policy.shell.options import PROGRAMS, TABLES, by_name, interpreter, outer_values, parse

_FILE_OPTION = (
    r"--?[\w.-]*(file|config|env|input|from|path|key|cert|secret|vars|dir|directory)|-[fk]"
)
# Options whose value is text, whatever it looks like.
_TEXT_OPTION = (
    r"--?([\w-]*(exclude|ignore|skip|without|message|title|subject|grep|pattern|match|label"
    r"|filter|literal)[\w-]*|[mnx])"
)
_OUTPUT_OPTION = r"(?i)--?(o|out|[\w-]*(output|out-?file|out-?dir|destination|log-?file)[\w-]*)"
_COMMAND_OPTION = (
    r"(?i)--?([\w.-]*[._-])?"
    r"(c|x|exec|command|cmd|run|runner|wrap|run_under|scripts?|shell|ssh|hook)"
)
_BARE_WORD = r"[\w-]+"  # rather a subcommand or a target than a file
_RUNS = word_set("exec run do cmd cmd.run shell ssh exec-env exec-file command kubectl dev:exec")
_VERBS = by_name({names: word_set(verbs) for names, verbs in TABLES["verbs"].items()})
_SETS = word_set("set unset")
_COPIES = word_set("cp copy copyto mv move moveto sync")
_FIRST_WORDS = 4  # among which the subcommand stands
_LOOKED_AT = 64  # words after a verb
_NAME_MAX = 64  # characters of an option's name


def likely_reads(call: ProgramCall) -> Iterator[str]:
    """Yield operands and values of options that look like files."""
    if not _COPIES.isdisjoint(call.operands()[:_FIRST_WORDS]):
        yield from call.operands()
    for option, value in _values(call):
        if re.fullmatch(_TEXT_OPTION, option) or re.fullmatch(_OUTPUT_OPTION, option):
            continue
        is_script = interpreter(call.name) and value == next(iter(call.operands()), "")
        if is_script or re.fullmatch(_FILE_OPTION, option) or not re.fullmatch(_BARE_WORD, value):
            yield value
        yield from parts(value)


def likely_writes(call: ProgramCall) -> Iterator[str]:
    """Yield values of options that sound like outputs, and the targets of copies."""
    operands = call.operands()
    sets = call.name == "dotenv" and not _SETS.isdisjoint(operands[:_FIRST_WORDS])
    for option, value in _values(call):
        if re.fullmatch(_OUTPUT_OPTION, option) or (sets and option in ("-f", "--file")):
            yield value
    if not _COPIES.isdisjoint(operands[:_FIRST_WORDS]):
        yield operands[-1]


def _values(call: ProgramCall) -> Iterator[tuple[str, str]]:
    """Yield all words with the option before it, "" for none, as if each option took a value."""
    option = ""
    for word in call.argv[1:]:
        if word[:1] != "-" or len(word) == 1:
            yield option, word
            option = ""
            continue
        name, has_value, value = word.partition("=")
        if has_value:
            yield name[:_NAME_MAX], value
        elif word[1] != "-" and re.search(r"[./]", word):
            yield word[:2], word[2:]
        option = "" if has_value else word[:_NAME_MAX]


def parts(word: str) -> Iterator[str]:
    """Yield the parts of `@file`, `key=@file`, `id=x,src=file`, `file://path`."""
    scheme, is_url, path = word.partition("://")
    if is_url:
        if scheme.startswith("file"):
            yield path
    elif " " not in word:
        pieces = re.split(r"[=,;@<:]+", word)
        yield from (piece for piece in pieces if piece != word and re.search("[./]", piece))


def run_guess(call: ProgramCall) -> str | None:
    """Run `aws-vault exec name -- cmd`, `nodemon --exec 'cmd'`, `poetry run cmd`."""
    is_known = call.name in PROGRAMS
    for words in _commands(call):
        call.walk.report_partial(not is_known)
        _run_likely(call, words, is_command=is_known)
    return None


def run_container(call: ProgramCall) -> str | None:
    """Run `docker run image cmd`, `kubectl exec pod -- cmd` in an unknown environment."""
    hidden = call.walk._replace(is_visible=False, state=call.state_elsewhere())
    return run_guess(call._replace(walk=hidden))


def _commands(call: ProgramCall) -> Iterator[Sequence[str]]:
    """Yield the words that may contain a command: after a verb, or in an option."""
    argv, verbs = call.argv, _VERBS.get(call.name, _RUNS)
    for option, value in _values(call):
        if " " in value and re.fullmatch(_COMMAND_OPTION, option) and verbs is _RUNS:
            yield [value]
    for index, word in parse(argv, *(outer_values(call.name) or ("", ()))).operands[:_FIRST_WORDS]:
        may_be_value = argv[index - 1][:1] == "-" and verbs is _RUNS
        if not may_be_value and not verbs.isdisjoint((word, *word.split(":"))):
            words = argv[index + (word != "kubectl") :]
            if call.name == "hatch":  # `hatch run environment:cmd`
                words = (words[0].rpartition(":")[2], *words[1:])
            yield words
            return
    if "--" in argv and verbs is _RUNS:
        yield argv[argv.index("--") + 1 :]


def likely_commands(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield possible commands after a verb: at once, or after the names of where they run."""
    before, is_first = "", True
    for index, word in enumerate(words[:_LOOKED_AT]):
        name = word.rsplit("/", 1)[-1]
        is_known = name in PROGRAMS or interpreter(name) is not None
        if word[:1] != "-" and (is_known or is_first or " " in word):
            yield [other for other in words[index:] if other != "--"]
            is_first = is_first and before[:1] == "-"  # it may be that option's value
            if is_known and (before[:1] != "-" or name in ("echo", "printf")):
                return  # what follows are its arguments
        before = word


def run_words(call: ProgramCall) -> str | None:
    """Run `numactl -N 0 cmd`, `bwrap --bind / / cmd`: a program's name begins the command."""
    _run_likely(call, call.argv[1 + call.program.skip :])
    return run_guess(call)


def _run_likely(call: ProgramCall, argv: Sequence[str], *, is_command: bool = True) -> None:
    """Run the possible command; if it is certain to be one, even a wholly unknown one."""
    likely = [
        words for words in likely_commands(argv) if marks.is_known(words[0].partition(" ")[0])
    ]
    known = [words for words in likely if words[0].rsplit("/", 1)[-1] in PROGRAMS]
    unknown = [at for at, word in enumerate(argv) if marks.has_hole(word) and word[0] != "-"]
    call.walk.report_partial(len(likely) != 1)
    for words in (known or [list(argv[at:]) for at in unknown[:1]]) if is_command else ():
        call.run(words)
    with only_certain_effects(call.walk):
        for words in likely:
            call.run_text(words[0]) if " " in words[0] else call.run(words)
