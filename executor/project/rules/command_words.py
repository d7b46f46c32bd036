"""Words of commands and settings that may be paths, in every reading that a shell may have."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What only a shell knows: a variable, what a command prints, braces, a glob.
_UNKNOWN = re.compile(
    r"\{\{.*?\}\}|\$\{[^}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+\$?|\$[@*#?]|\{[^{}\s]*,[^{}\s]*\}|[*?]+"
)
_BREAK = re.compile(r"[\s;&|<>(){}`]+")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_QUOTE = re.compile(r"[\"']")
_MODULE = re.compile(r"(?:^|\s)(?:-\w*m|--module|module)[\s=:,]*([^\W\d][\w.]*)")
_BLANK = "\1"  # one with a backslash before it, which is part of a word
# In files with commands: comments, keys, what says which files are looked at or where a hook is
# from, globs and regular expressions, permissions to read or write.
_NO_COMMAND = re.compile(
    r"""^\s*\#.*$ | "(?!module")[^"\n]*"\s*:
      | ^([ \t]*)(?:-([ ]+))?(?:files|exclude|glob|rev|repo|name)\s*:.*\n?
        (?:\1(?(2)[ ]\2)[ \t]+.*\n?)*
      | [^\s"',]*(?:[\^*?]|\\\.|\$(?=["'\s]|\Z))[^\s"',]* | \b(?!Bash)[A-Z]\w*\([^)]*\)""",
    re.M | re.X,
)


def split_words(text: str) -> set[str]:
    """Return what may be a path, with quotes and escapes taken away, and the whole of the text.

    Of a word that is known in part only, the folder before that and each part after it count.
    Modules are folders.
    """
    plain = text.replace("\\ ", _BLANK).replace("\\", "")
    spaced, known = _QUOTE.sub(" ", plain), _QUOTE.sub("", plain)
    while (shorter := _UNKNOWN.sub("\0", known)) != known:
        known = shorter
    words = {text.strip(), *(word for pair in _QUOTED.findall(plain) for word in pair)}
    for word in (*_BREAK.split(spaced), *_BREAK.split(known)):
        start, *unknown = word.split("\0")
        words.update(_parts(start[: start.rfind("/") + 1] if unknown else start))
        for end in unknown[-1:]:
            for at in (at for at, character in enumerate(end) if character == "/"):
                words.update(_parts(end[at + 1 :]))
    for module in _MODULE.findall(spaced):
        names = module.strip(".").split(".")
        for folder in ("/".join(names[:end]) for end in range(1, len(names) + 1)):
            words |= {f"{folder}/", f"{folder}/__init__.py", f"{folder}/__main__.py"}
    return {word.replace(_BLANK, " ") for word in words if word.strip("/.") and "\0" not in word}


def keep_commands(text: str) -> str:
    """Return a file's text without what is no command, as `exclude: ^docs/` and keys of JSON."""
    return _NO_COMMAND.sub(" ", text.replace(":*)", ")").replace("\\n", "\n"))


def _parts(word: str) -> Iterator[str]:
    """A word, an option's value, and the parts of `a=b`, `a:b`, `a,b` and `@a`."""
    word = word.strip("[]!,").removeprefix("file://")
    yield from (word, word.lstrip("-"), *re.split("[=:,@]", word))
    if word.startswith("-"):
        yield word[2:]
