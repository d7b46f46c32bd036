"""Ways to write a secret so that its bytes are not the ones that are read: a table, and chains.

Each way spells a text; a reader that knows nothing of ours, `reveal`, undoes them all.
"""

from __future__ import annotations

import html
import json
import quopri
import random
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote

from tests.base.secret_corpus import BASE32, URL_SAFE, key_block, made

TOKEN = "ghp_" + made(36)
VALUE = made(32)
PEM = key_block("RSA PRIVATE KEY")

Spell = Callable[[str], str]


def _each(form: str) -> Spell:
    """Spell each character by itself: `c` is the character, `o` its number."""
    return lambda text: "".join(form.format(c=c, o=ord(c)) for c in text)


def _bytes(form: str) -> Spell:
    """Spell each byte by itself."""
    return lambda text: "".join(form.format(o=byte) for byte in text.encode())


def _quote_mail(text: str) -> str:
    return quopri.encodestring(text.encode()).decode()


def _split_string(introducer: str, text: str) -> str:
    return f"{text[:9]}\x1b{introducer}\x1b\\{text[9:]}\x1b{introducer}\x1b\\"


# Every one of them may stand in the midst of a line.
WAYS: dict[str, Spell] = {
    "coloured": lambda text: f"\x1b[01;31m\x1b[K{text}\x1b[m\x1b[K",
    "coloured within": lambda text: f"{text[:7]}\x1b[38;5;208m{text[7:]}\x1b[0m",
    "C1 controls": lambda text: f"\x9b1m{text}\x9bm",
    "cursor": lambda text: f"\x1b[2K\x1b[1G{text}",
    "link": lambda text: f"\x1b]8;;https://a.example\x1b\\{text}\x1b]8;;\x1b\\",
    "link within": lambda text: _split_string("]8;;https://a.example", text),
    "title": lambda text: f"\x1b]0;{text}\x07",
    "bold": _each("{c}\b{c}"),
    "underlined": _each("_\b{c}"),
    "erased before": lambda text: f"xx\b\b{text}",
    "returned": lambda text: f" 10 %\r{text}",
    "NUL": "\0".join,
    "zero-width joiners": "\u200d".join,
    "zero-width space": lambda text: f"word\u200b{text}",
    "soft hyphen": lambda text: f"{text[:9]}\u00ad{text[9:]}",
    "byte order mark": lambda text: f"\ufeff{text}",
    "JSON": lambda text: json.dumps(f"hello\n{text}"),
    "JSON tab": lambda text: json.dumps(f"hello\t{text}"),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"text": f"hello\n{text}"})),
    "JSON slashes": lambda text: json.dumps(f"a/\n{text}").replace("/", "\\/"),
    "repr": lambda text: repr(f"hello\n{text}"),
    "repr of bytes": lambda text: repr(f"hello\r\n{text}".encode()),
    "units": _each("\\u{o:04x}"),
    "points": _each("\\u{{{o:x}}}"),
    "bytes": _bytes("\\x{o:02x}"),
    "octal": _bytes("\\{o:03o}"),
    "first unit": lambda text: f"\\u{ord(text[0]):04x}{text[1:]}",
    "colour written": lambda text: f"\\u001b[31m{text}\\u001b[0m",
    "colour in octal": lambda text: f"\\033[31m{text}\\033[0m",
    "Markdown": lambda text: text.replace("_", "\\_"),
    "URL": lambda text: quote(f"say\n{text}"),
    "URL twice": lambda text: quote(quote(f"say\n{text}")),
    "URL all": _bytes("%{o:02X}"),
    "HTML": lambda text: html.escape(f'"{text}"'),
    "HTML twice": lambda text: html.escape(html.escape(f'"{text}"')),
    "HTML decimal": _each("&#{o};"),
    "HTML hexadecimal": _each("&#x{o:x};"),
    "mail": lambda text: _quote_mail(f"{'x' * 60} a={text}"),
}
# These would take another's escapes apart, so that nobody reads them.
INNERMOST = frozenset(
    (
        "coloured within",
        "link within",
        "bold",
        "underlined",
        "NUL",
        "zero-width joiners",
        "soft hyphen",
    )
)


def _encoded_sign(sign: str) -> Spell:
    return lambda secret: f"x?token{sign}{secret}"


# Name, what is spelled of a secret, the secret, and what is as long as it and none.
CASES: tuple[tuple[str, Spell, str, str], ...] = (
    *(
        (f"token, {name}", way, TOKEN, "plain-words-that-open-nothing")
        for name, way in WAYS.items()
    ),
    *(
        (f"token behind {sign}", _encoded_sign(sign), TOKEN, "<it>")
        for sign in ("%3D", "%253D", "&#61;", "\\u003d", "=3D")
    ),
    ("coloured name", lambda it: f"API_KEY=\x1b[33m{it}\x1b[0m", VALUE, "your-key-here"),
    ("quoted in HTML", lambda it: f"API_KEY=&quot;{it}&quot;", VALUE, "your-key-here"),
    ("amid colours", lambda it: f'\x1b[1m"password"\x1b[0m: \x1b[32m"{it}"', VALUE, "<secret>"),
    ("JSON thrice", lambda it: json.dumps(json.dumps(json.dumps({"password": it}))), VALUE, "<it>"),
    ("in a URL", lambda it: quote(json.dumps({"password": it})), VALUE, "<it>"),
    ("address", lambda it: quote(f"https://me:{it}@a.example/"), VALUE, "password"),
    ("address in JSON", lambda it: f"https:\\/\\/me:{it}@a.example\\/", VALUE, "password"),
    ("in a link", lambda it: f"\x1b]8;;https://me:{it}@a.example\x07x\x1b]8;;\x07", VALUE, "pwd"),
    ("key in JSON", lambda it: json.dumps({"key": it}).replace("-", "\\u002d"), PEM, "no key"),
    ("coloured key", lambda it: re.sub("(?m)^(.+)$", "\x1b[32m\\1\x1b[0m", it), PEM, "no key"),
)


def reveal(text: str) -> str:
    """Undo every way of the table, again and again, as a reader of each would."""
    for _ in range(4):
        held = re.findall(r"\x1b\]([^\x07\x1b]*)", text)
        text = re.sub(r"\x1b\][^\x07\x1b]*(\x07|\x1b\\)", "", text)
        text = "\n".join([text, *held])
        text = re.sub(r"(\x1b\[|\x9b)[0-?]*[ -/]*[@-~]", "", text)
        text = re.sub(r"_\x08|(.)\x08(?=\1)", "", text)
        text = re.sub("[\0-\x08\u00ad\u200b-\u200f\ufeff]", "", text)
        text = re.sub(r"=\n", "", text).replace("=3D", "=")
        text = re.sub(r"\\+u\{?([0-9a-f]{2,4})\}?", lambda found: chr(int(found[1], 16)), text)
        text = re.sub(r"\\+x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
        text = re.sub(r"\\+([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
        text = re.sub(r"\\+n", "\n", text).replace("\\_", "_").replace("\\/", "/")
        text = html.unescape(unquote(text))
    return text


def core_of(secret: str) -> str:
    """Return a part of a secret that nothing harmless has."""
    return secret.split("\n")[2][8:40] if "\n" in secret else secret[8:30]


def planted(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield texts with a token spelled in one way, or in two or three around one another, amid
    ordinary words, and the token. The same seed yields the same."""
    chosen = random.Random(seed)
    makers = (
        lambda n: "ghp_" + made(36, seed=n),
        lambda n: "glpat-" + made(20, URL_SAFE, n).replace("-", "a"),
        lambda n: "AKIA" + made(16, BASE32, n),
        lambda n: "sk_" + "live_" + made(24, seed=n),
        lambda n: "npm_" + made(36, seed=n),
        lambda n: "xoxb-" + made(12, "0123456789", n) + "-" + made(24, seed=n),
        lambda n: "hf_" + made(34, seed=n),
    )
    befores = ("", "error: ", "log\n", "(", "key = ", "https://a.example/?q=", "<p>", "\t- ", '"')
    afters = ("", " was found", "\n", ")", ", next", "</p>", '"', "; rm x")
    for number in range(count):
        secret = text = chosen.choice(makers)(number)
        for index, name in enumerate(chosen.choices(tuple(WAYS), k=chosen.choice((1, 1, 2, 2, 3)))):
            if not index or name not in INNERMOST:
                text = WAYS[name](text)
        yield chosen.choice(befores) + text + chosen.choice(afters), secret
