"""Pages into the store: what they become, when they are asked for again, side by side."""

from __future__ import annotations

import io
import json
import zlib

import pytest
import trio

from ctxmode.errors import UsageError
from ctxmode.operations import audit
from ctxmode.operations.library import open_library
from ctxmode.web.model import Bounds, PageAnswer, PageStatus, fetch_text
from ctxmode.web.pages import PageFetcher
from tests.ctxmode.web.site import answer, redirect, serving

HTML = b"""<html><head><title>A guide</title></head><body><nav>menu</nav><h1>Guide</h1>
<p>A retry waits. <a href="more">More</a></p><pre><code class="language-python">x = 1
y = 2</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"""

pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'httpcore2:ResourceWarning")


@pytest.fixture
def library(config):
    with open_library(config) as opened:
        yield opened


async def fetched(library, web, *wanted, **options):
    options = {"bounds": Bounds(idle_s=60, total_s=60, bytes_max=1_000_000)} | options
    fetcher = PageFetcher(library, web.network(), trio.CapacityLimiter(1), **options)
    return await fetcher.fetch([(one, None) if isinstance(one, str) else one for one in wanted])


def html(**headers):
    return answer(body=HTML, content_type="text/html; charset=utf-8", **headers)


async def test_every_verdict_on_an_address_is_logged(library):
    async with serving({"/d/p": html()}) as web:
        await fetched(library, web, web.url("/d/p"), "http://169.254.169.254/latest")
    told = [
        (e["surface"], e["decision"], *e["rules"])
        for e in audit.read_entries(library.config.log_dir)
    ]
    assert set(told) == {("fetch", "allow"), ("fetch", "deny", "default.address")}


async def test_a_page_becomes_markdown_with_its_code_and_tables(library):
    async with serving({"/d/p": html()}) as web:
        (page,) = await fetched(library, web, web.url("/d/p"))
    assert (page.status, page.title, page.converted) == ("new", "A guide", "HTML to Markdown")
    text = library.store.text(page.source_id).decode()
    assert text.startswith("# Guide\n\nA retry waits.")
    assert f"[More]({web.url('/d/more')})" in text
    assert "```python\nx = 1\ny = 2\n```" in text
    assert "| a" in text
    assert "menu" not in text
    assert page.preview == text
    (hit,) = library.store.search("retry waits")[0].hits
    assert hit.source == page.source == web.url("/d/p")


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "text"),
    [
        (b'{"a": {"b": 1}}', "application/json", "json", '{"a": {"b": 1}}'),
        (b'{"a": 1}', "application/vnd.api+json", "json", '{"a": 1}'),
        (b"# M\n\ntext", "text/markdown", "markdown", "# M\n\ntext"),
        (b"plain\n", "text/plain", "text", "plain\n"),
        (b"plain\n", None, "text", "plain\n"),
        (b"a,b\n1,2\n", "text/csv", "csv", "a,b\n1,2\n"),
        (b"<!doctype html><h1>T</h1>", None, "html", "# T\n"),
        (b"<!doctype html><h1>T</h1>", "application/octet-stream", "html", "# T\n"),
        ("naïve".encode("latin-1"), "text/plain; charset=iso-8859-1", "text", "naïve"),
        ("naïve".encode("latin-1"), "text/plain; charset=utf-8", "text", "naïve"),
        ("naïve".encode(), "text/plain; charset=no-such", "text", "naïve"),
        ("naïve".encode(), "text/plain; charset=hex", "text", "naïve"),
        ("日本".encode("shift_jis"), "text/plain; charset=Shift_JIS", "text", "日本"),
        ("naïve".encode("utf-16"), "text/plain; charset=latin-1", "text", "naïve"),
        (
            '<meta charset="windows-1251"><h1>Привет</h1>'.encode("cp1251"),
            "text/html",
            "html",
            "# Привет\n",
        ),
        *(
            (b"na\\x41-+AEE-", f"text/plain; charset={name}", "text", "na\\x41-+AEE-")
            for name in ("punycode", "PunyCode", "idna", "unicode_escape", "utf-7")
        ),
        (b"", "text/plain", "text", ""),
        ("naïve".encode("utf-8-sig"), "text/plain; charset=latin-1", "text", "naïve"),
        (b"<h1>Retry</h1><p>It <b>waits", "text/html", "html", "# Retry\n\nIt **waits**\n"),
        (b"<!doctype html><title>x</title><p>cut <a hre", "text/html", "html", "cut\n"),
    ],
)
async def test_text_is_kept_as_what_it_is_in_utf8(library, body, content_type, kind, text):
    async with serving({"/": answer(body=body, content_type=content_type)}) as web:
        (page,) = await fetched(library, web, web.url("/"))
    assert (page.error, page.kind) == ("", kind)
    assert library.store.text(page.source_id).decode() == text


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0", "image/png"),
        (b"\x7fELF\0\0\0\0\0", None),
        (b"PK\x03\x04\xff\xfe\xfd\xfc" * 20, "application/zip"),
    ],
)
async def test_what_holds_no_text_is_refused(library, body, content_type):
    async with serving({"/": answer(body=body, content_type=content_type)}) as web:
        (page,) = await fetched(library, web, web.url("/"))
    assert (page.status, "no text" in page.error) == ("failed", True)
    assert library.sources() == []


def pdf(*pages: str) -> bytes:
    """A small PDF whose pages say this."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


async def test_a_pdf_becomes_its_text_page_by_page(library):
    body = pdf("about walruses", "about penguins")
    async with serving({"/": answer(body=body, content_type="application/pdf")}) as web:
        (page,) = await fetched(library, web, web.url("/"))
    text = library.store.text(page.source_id).decode()
    assert text == "## Page 1\n\nabout walruses\n\n## Page 2\n\nabout penguins\n\n"
    assert page.converted == "PDF to Markdown"
    assert library.source(page.source).converted == "PDF to Markdown"


@pytest.mark.parametrize("body", [b"%PDF-1.7 and no more", b"%PDF-" + zlib.compress(b"x" * 999)])
async def test_a_broken_pdf_is_told(library, body):
    async with serving({"/": answer(body=body, content_type="application/pdf")}) as web:
        (page,) = await fetched(library, web, web.url("/"))
    assert "cannot read the PDF" in page.error


async def test_a_fresh_page_is_not_asked_for_and_force_does_it_anyway(library):
    async with serving({"/": html()}) as web:
        url = web.url("/")
        statuses = [
            (await fetched(library, web, url))[0].status,
            (await fetched(library, web, url))[0].status,
            (await fetched(library, web, url, force=True))[0].status,
            (await fetched(library, web, url, ttl_s=0.0))[0].status,
        ]
    assert statuses == ["new", "cached", "new", "new"]
    assert len(web.asked) == 3
    assert len(library.sources()) == 1


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"etag": '"v1"'}, 'if-none-match: "v1"'),
        ({"last_modified": "Sat, 01 Jan 2022 00:00:00 GMT"}, "if-modified-since: sat, 01 jan 2022"),
    ],
)
async def test_a_stale_page_is_asked_for_by_its_validator_and_stays_where_it_holds(
    library, given, sent
):
    async def page(stream, head):
        known = "if-none-match" in head.lower() or "if-modified-since" in head.lower()
        await stream.send_all(answer("304 Not Modified", b"") if known else html(**given))

    async with serving({"/": redirect("/final"), "/final": page}) as web:
        (first,) = await fetched(library, web, web.url("/"))
        (second,) = await fetched(library, web, web.url("/"), ttl_s=0.0)
        (third,) = await fetched(library, web, web.url("/"))
    assert [first.status, second.status, third.status] == ["new", "unchanged", "cached"]
    assert sent in web.asked[-1].lower()
    assert second.source_id == first.source_id
    assert second.preview == first.preview


async def test_a_changed_page_supersedes_the_one_before(library):
    async with serving({"/": answer(body=b"about walruses\n")}) as web:
        await fetched(library, web, web.url("/"))
        web.pages["/"] = answer(body=b"about penguins\n")
        await fetched(library, web, web.url("/"), ttl_s=0.0)
    assert library.store.search("walruses")[0].hits == ()
    assert library.store.search("penguins")[0].hits


async def test_a_purged_page_is_fetched_again(library):
    async with serving({"/": answer("200 OK", b"x\n", etag='"v1"')}) as web:
        (first,) = await fetched(library, web, web.url("/"))
        library.store.purge(everything=True)
        (second,) = await fetched(library, web, web.url("/"))
    assert (first.status, second.status) == ("new", "new")
    assert not any("if-none-match" in head.lower() for head in web.asked)


async def test_nothing_was_kept_and_unchanged_is_an_error(library):
    async with serving({"/": answer("304 Not Modified", b"")}) as web:
        (page,) = await fetched(library, web, web.url("/"))
    assert "not stored" in page.error


async def test_several_pages_come_side_by_side_each_with_its_own_fate(library):
    """Each answers only when all of them have been asked for."""
    together = trio.Event()
    arrived = []

    async def waiting(stream, head):
        arrived.append(head)
        if len(arrived) == 3:
            together.set()
        await together.wait()
        await stream.send_all(answer())

    async with serving({f"/{n}": waiting for n in range(3)}) as web:
        urls = [web.url(f"/{n}") for n in range(3)]
        pages = await fetched(library, web, *urls, web.url("/none"), concurrency=4)
    assert [page.url for page in pages] == [*urls, web.url("/none")]
    assert [page.status for page in pages] == ["new", "new", "new", "failed"]


async def test_rules_for_fetching_hold_at_every_redirect_and_for_what_is_kept(library, config):
    async with serving({"/": redirect("http://other.example/x"), "/y": answer()}) as web:
        (kept,) = await fetched(library, web, web.url("/y"))
        settings = config.project / ".claude" / "settings.json"
        settings.parent.mkdir()
        denied = ["WebFetch(domain:other.example)"]
        settings.write_text(json.dumps({"permissions": {"deny": denied}}))
        (page,) = await fetched(library, web, web.url("/"))
        assert "other.example" in page.error
        assert "WebFetch(domain:other.example)" in page.error
        denied.append("WebFetch(domain:site.example)")
        settings.write_text(json.dumps({"permissions": {"deny": denied}}))
        (again,) = await fetched(library, web, web.url("/y"))
    assert kept.ok
    assert "site.example" in again.error
    assert web.resolved == ["site.example", "site.example"]


async def test_a_secret_in_an_address_or_a_page_is_neither_kept_nor_told(library, config):
    secret = "ghp_" + "k7Qm2vX9pR4tW8zB1nC6dF3gH5jL0sAaEeYy"
    body = f"<title>{secret}</title><p>the token is {secret}</p>".encode()
    async with serving({}) as web:
        web.pages[f"/?token={secret}"] = answer(body=body, content_type="text/html")
        (page,) = await fetched(library, web, web.url(f"/?token={secret}"))
        assert page.ok
        assert page.redactions == 1
        assert secret not in str(page)
        assert (await fetched(library, web, web.url(f"/?token={secret}")))[0].status == "cached"
    library.store.checkpoint()
    assert secret.encode() not in config.database.read_bytes()


async def test_labels_tell_pages_apart_and_find_them_together(library):
    async with serving({"/a": answer(body=b"walrus a\n"), "/b": answer(body=b"walrus b\n")}) as web:
        wanted = [(web.url(path), "docs") for path in ("/a", "/b")]
        pages = await fetched(library, web, *wanted)
    assert [page.source for page in pages] == [f"docs::{web.url('/a')}", f"docs::{web.url('/b')}"]
    assert len(library.store.search("walrus", source="docs::")[0].hits) == 2


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://a.example/", "file:///etc/passwd", "http://", "h\0"]
)
async def test_what_is_no_address_is_told(library, url):
    async with serving({}) as web:
        (page,) = await fetched(library, web, url)
    assert page.status is PageStatus.FAILED
    assert page.error


@pytest.mark.parametrize("wanted", [(), (("http://a.example", None),) * 51])
async def test_no_address_or_too_many_are_refused(library, wanted):
    async with serving({}) as web:
        with pytest.raises(UsageError):
            await fetched(library, web, *wanted)


async def test_the_text_shows_the_beginning_and_what_was_done(library):
    async with serving({"/": html(), "/long": answer(body=b"word\n" * 2000)}) as web:
        fetcher = PageFetcher(library, web.network(), trio.CapacityLimiter(1))
        one = await fetcher.fetch([(web.url("/"), None)])
        two = await fetcher.fetch([(web.url("/long"), None), (web.url("/gone"), None)])
    assert fetch_text(one).startswith(f"[new] {web.url('/')} | A guide\n[")
    assert "HTML to Markdown" in fetch_text(one)
    assert fetch_text(two).count("word") == 64
    assert f"[failed] {web.url('/gone')}: its server answered 404" in fetch_text(two)
    assert [page.bytes for page in two if page.status is PageStatus.NEW] == [10_000]


def test_a_title_takes_one_line_whatever_its_page_says():
    page = PageAnswer("https://a.example", PageStatus.NEW, "a", title="A\n[new] b\x1b[2J")
    first, second = fetch_text((page,)).splitlines()
    assert first == "[new] a | A\\n[new] b\\x1b[2J"
    assert second.startswith("[0 sections, ")
