"""A page's bytes as UTF-8 text that the store can detect, convert and cut."""

from __future__ import annotations

import codecs
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import trio

from ctxmode.web.model import FetchError, Response
from kb.decoding import as_utf8, is_binary
from kb.detect import detect
from kb.html_markdown import title_of

PDF_S_MAX = 60.0
PDF_WORKER = Path(__file__).with_name("pdf_worker.py")

_TEXT_TYPES = re.compile(
    r"text/.*|application/(?:.*[+/-])?(?:json|xml|yaml|javascript|ecmascript|ndjson|jsonl|toml|sql"
    r"|x-sh|typescript|graphql|markdown)$"
)
_META_CHARSET = re.compile(rb"""(?is)<meta[^<>]{1,200}?charset\s*=\s*["']?([a-z0-9._:-]{1,40})""")
_HEADER_CHARSET = re.compile(r"""(?i)charset\s*=\s*["']?([a-z0-9._:-]{1,40})""")
# Python's codecs for names and for source, in which no page is written. The time of the first grows
# with the square of the length: a megabyte would take a minute.
_NO_CHARSETS = frozenset(("punycode", "idna", "unicode-escape", "raw-unicode-escape", "utf-7"))
_SNIFF_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Content:
    """Text in UTF-8. `media_type` tells the store its kind, None lets it look; `converted` says
    what was done here, `base_url` what its links are relative to."""

    text: bytes
    media_type: str | None
    title: str | None = None
    converted: str | None = None
    base_url: str | None = None


async def content_of(response: Response) -> Content:
    """Convert an answer to text; a FetchError says that it holds none."""
    media_type = response.content_type.partition(";")[0].strip().lower()
    body = response.body
    if body.startswith(b"%PDF-") or (media_type == "application/pdf" and body):
        return Content(await _pdf_text(body), "text/markdown", converted="PDF to Markdown")
    known = bool(_TEXT_TYPES.match(media_type))
    if is_binary(body[:_SNIFF_BYTES]) or (not known and _undecodable(body)):
        raise FetchError(
            f"it is {media_type or 'binary'}, which holds no text", "Fetch a page, or its text."
        )
    kind = detect(body[:_SNIFF_BYTES], media_type=media_type if known else None).kind
    text, said = _decode(body, response.content_type, kind)
    title = title_of(text.decode("utf-8", "replace")) if kind == "html" else None
    return Content(text, media_type if known else None, title, said, response.url)


def _undecodable(body: bytes) -> bool:
    try:
        body[:_SNIFF_BYTES].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < min(len(body), _SNIFF_BYTES) - 4
    return False


def _decode(body: bytes, content_type: str, kind: str) -> tuple[bytes, str | None]:
    """Convert the body to UTF-8; return what it was in. A byte order mark goes before the header,
    that before the page's own word; where all are wrong it is read as browsers read it."""
    marked, encoding = as_utf8(body)
    if encoding is not None:
        return marked, f"{encoding} to UTF-8"
    named = [found.group(1) for found in [_HEADER_CHARSET.search(content_type)] if found]
    if kind in ("html", "xml"):
        in_page = _META_CHARSET.search(body[:4096])
        named += [in_page.group(1).decode("ascii")] if in_page else []
    for name in [*named, "utf-8"]:
        try:
            codec = codecs.lookup(name)
            if codec.name in _NO_CHARSETS:
                continue
            text = body.decode(codec.name)
        except (LookupError, UnicodeError, ValueError):
            continue
        if not isinstance(text, str):
            continue  # a codec that is no character encoding
        said = None if codec.name == "utf-8" else f"{codec.name} to UTF-8"
        return text.encode("utf-8", "replace"), said
    return body.decode("cp1252", "replace").encode(), "cp1252 (guessed) to UTF-8"


async def _pdf_text(body: bytes) -> bytes:
    with trio.move_on_after(PDF_S_MAX):
        done = await trio.run_process(
            [sys.executable, "-I", str(PDF_WORKER)],
            stdin=body,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env={},
        )
        if done.returncode == 0:
            return done.stdout or b""
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise FetchError(f"its PDF cannot be read: {reason or 'it exceeds a limit'}")
    raise FetchError("its PDF takes too long to read")
