"""What arrives in a form that is not kept as such: other encodings, and HTML, which becomes
Markdown. The converted text is what is stored, chunked exactly and counted; the source says so."""

from __future__ import annotations

from dataclasses import dataclass

from kb.decoding import as_utf8
from kb.detect import Detected, detect
from kb.html_markdown import MAX_HTML_BYTES
from kb.workers import to_markdown

MARKDOWN = Detected("markdown", "markdown", "converted")


@dataclass(frozen=True, slots=True)
class Converted:
    """The text to keep. `detected` is what the source is, `chunked_as` what `data` is. `steps` says
    what was done, in words; it is empty where `data` is the source's own bytes."""

    data: bytes
    detected: Detected
    chunked_as: Detected
    steps: tuple[str, ...] = ()


def convert(  # noqa: PLR0913 - all that may be known of a source
    data: bytes,
    *,
    name: str | None = None,
    media_type: str | None = None,
    kind: str | None = None,
    language: str | None = None,
    base_url: str | None = None,
) -> Converted:
    """`data` as text that can be cut into exact chunks; `base_url` resolves a page's links."""
    text, encoding = as_utf8(data)
    steps = () if encoding is None else (f"{encoding} to UTF-8",)
    detected = detect(text, name=name, media_type=media_type, kind=kind, language=language)
    if detected.kind != "html" or not text.strip() or len(text) > MAX_HTML_BYTES:
        return Converted(text, detected, detected, steps)
    markdown = to_markdown(text.decode("utf-8", "replace"), base_url=base_url)
    return Converted(markdown.encode(), detected, MARKDOWN, (*steps, "HTML to Markdown"))
