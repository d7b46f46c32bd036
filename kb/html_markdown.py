"""Conversion of HTML to Markdown, with headings, code blocks and tables.

Scripts, styles, navigation and footers are left out. Lines of code stay as in the page, under their
language if the page names it.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from importlib import import_module
from itertools import accumulate
from operator import sub
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_HTML_BYTES = 32 * 1024 * 1024
"""Larger documents are kept as they are: a tree of them would take a gigabyte of memory."""

MAX_DEPTH = 500
"""Deeper nesting does not occur in pages that people write, and costs the parser quadratic time."""

MIN_KEPT = 0.6
"""The share of a page's letters and digits that its Markdown must have to be taken for it."""

_LEFT_OUT = (
    "script, style, noscript, template, svg, nav, footer, [role=navigation], a.headerlink,"
    " a.anchor, a.anchorjs-link, td.linenos, td.gutter, td.blob-num, span.linenos"
)
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:|sourceCode)[-\s]?([a-z][\w+#-]*)",
    re.IGNORECASE,
)
_NO_LANGUAGES = frozenset({"default", "none", "notranslate", "text", "plain", "plaintext"})
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]*")
_MARKUP = re.compile(r"(?is)<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|<[^<>]*>")
# Elements that never hold others, or that authors leave open and the next one of them closes.
_FLAT_NAMES = """
area base br col embed hr img input link meta param source track wbr
p li dt dd td th tr tbody thead tfoot option
"""
_FLAT = frozenset(_FLAT_NAMES.split())
_NO_LETTERS = bytes(byte for byte in range(0x80) if not chr(byte).isalnum())


def to_markdown(html: str, *, base_url: str | None = None) -> str:
    """Return the page as Markdown; relative links are resolved against `base_url` if given.

    Never raises for any content: a page that no parser understands becomes its text.
    """
    if _too_deep(html):
        return bare_text(html)
    tree = _parser()(html)
    for node in tree.css(_LEFT_OUT):
        node.decompose()
    _free_code(tree)
    written = _convert(tree.html or "", base_url)
    body = tree.body
    text = body.text(separator="\n", strip=True) if body is not None else ""
    return written if _letters(written) >= MIN_KEPT * _letters(text) else text + "\n"


def title_of(html: str) -> str | None:
    """Return the page's title, or None."""
    found = re.search(r"(?is)<title[^<>]*>([^<]{1,600})", html)
    return " ".join(unescape(found.group(1)).split()) or None if found else None


def _too_deep(html: str) -> bool:
    steps = list(accumulate(map(_Steps().__getitem__, _TAG.findall(html)), initial=0))
    ground = accumulate(steps, min)  # a stray end tag closes nothing
    deepest: int = max(map(sub, steps, ground))
    return deepest > MAX_DEPTH


class _Steps(dict[str, int]):
    """The depth that the beginning of a tag adds. A table that fills on demand, so that a page's
    thousands of tags are counted without a loop."""

    def __missing__(self, tag: str) -> int:
        name = tag.strip("</").lower()
        self[tag] = 0 if name in _FLAT else -1 if tag.startswith("</") else 1
        return self[tag]


def bare_text(html: str) -> str:
    """Return the text between the tags, as the last resort."""
    return unescape(_MARKUP.sub(" ", html))


def _free_code(tree: LexborHTMLParser) -> None:
    """Take code out of tables, which have no room for lines, and note each block's language."""
    for table in tree.css("table"):
        if table.css_first("pre") is not None and table.css_first("th") is None:
            for cell in table.css("tbody, tr, td"):
                cell.unwrap()
            table.unwrap()
    for block in tree.css("pre"):
        language = _language(block)
        if language is not None and block.css_first("code[class^=language-]") is None:
            block.attrs["class"] = f"language-{language}"


def _language(block: LexborNode) -> str | None:
    """Return the language that the block, the code in it, or its surroundings name."""
    inner = block.css_first("code")
    around: list[LexborNode | None] = [inner, block, block.parent]
    around.append(block.parent.parent if block.parent is not None else None)
    for node in around:
        if node is None:
            continue
        named = node.attributes.get("data-lang") or node.attributes.get("data-language")
        found = _LANGUAGE.search(node.attributes.get("class") or "")
        language = named or (found.group(1) if found else None)
        if language and language.lower() not in _NO_LANGUAGES:
            return re.sub(r"[^\w+#-]", "", language).lower() or None
    return None


def _convert(html: str, base_url: str | None) -> str:
    converter, options = _converter()
    given = options(base_url)
    try:
        content = converter.convert(html, given).content
    except converter.ConversionError:
        return ""
    return str(content or "")


def _letters(text: str) -> int:
    """Return the bytes of its letters and digits; all non-ASCII characters count as such."""
    return len(text.encode("utf-8", "replace").translate(None, _NO_LETTERS))


@cache
def _parser() -> type[LexborHTMLParser]:
    return import_module("selectolax.lexbor").LexborHTMLParser  # type: ignore[no-any-return]


@cache
def _converter() -> tuple[Any, Any]:
    """Return the converting library, loaded when there is HTML, and its options by base URL."""
    library = import_module("html_to_markdown")

    def options(base_url: str | None) -> object:
        return library.ConversionOptions(
            preprocessing=library.PreprocessingOptions(enabled=False),
            extract_metadata=False,
            compact_tables=True,
            base_url=base_url,
        )

    return library, options
