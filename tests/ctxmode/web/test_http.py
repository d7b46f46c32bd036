"""One address, against a server that misbehaves in every way we could think of."""

from __future__ import annotations

import email.utils
import gzip
import ssl
import time
import zlib

import pytest
import trio
import trustme

from ctxmode.web.http import get
from ctxmode.web.model import Bounds, FetchError
from tests.ctxmode.web.site import answer, redirect, serving

# Where a body is left unread, the client library closes its connection but not its generators.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'httpcore2:ResourceWarning")

BOUNDS = Bounds(total_s=60, idle_s=60, bytes_max=100_000)
HURRIED = Bounds(total_s=0.5, idle_s=60, bytes_max=100_000)
IMPATIENT = Bounds(total_s=60, idle_s=0.3, bytes_max=100_000)


def anything(url: str) -> None:
    """A judge that forbids nothing."""


def compressed(body: bytes, **headers) -> bytes:
    return answer(body=body, content_encoding="gzip", **headers)


async def silent(stream, head):
    await trio.sleep_forever()


async def dripping(stream, head):
    await stream.send_all(answer(body=b"", content_length=10_000))
    while True:
        await stream.send_all(b"x")
        await trio.sleep(0.01)


async def endless(stream, head):
    await stream.send_all(answer(body=b"", content_length=None))
    while True:
        await stream.send_all(b"x" * 10_000)


async def endless_chunks(stream, head):
    head = answer(body=b"", content_length=None, transfer_encoding="chunked")
    await stream.send_all(head)
    while True:
        await stream.send_all(b"1000\r\n" + b"x" * 4096 + b"\r\n")


async def endless_headers(stream, head):
    await stream.send_all(b"HTTP/1.1 200 OK\r\n")
    while True:
        await stream.send_all(b"X-More: " + b"y" * 1000 + b"\r\n")


async def endless_interim(stream, head):
    while True:
        await stream.send_all(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await trio.sleep(0.001)


async def ever_deeper(stream, head):
    path = head.split(" ")[1]
    await stream.send_all(redirect(f"{path}x"))


def bomb() -> bytes:
    return gzip.compress(b"\0" * 50_000_000)


MISBEHAVIOUR = {
    "never answers": (silent, IMPATIENT, "did not answer in time"),
    "never answers, in all": (silent, HURRIED, "longer than 0.5 s"),
    "drips": (dripping, HURRIED, "longer than 0.5 s"),
    "endless body": (endless, BOUNDS, "larger than"),
    "endless chunks": (endless_chunks, BOUNDS, "larger than"),
    "announces too much": (answer(content_length=10**12), BOUNDS, "larger than"),
    "endless headers": (endless_headers, BOUNDS, "failed"),
    "endless interim answers": (endless_interim, HURRIED, "longer than 0.5 s"),
    "compression bomb": (compressed(bomb()), BOUNDS, "larger than"),
    "bomb as deflate": (
        answer(body=zlib.compress(b"\0" * 50_000_000), content_encoding="deflate"),
        BOUNDS,
        "larger than",
    ),
    "bomb of many members": (compressed(gzip.compress(b"\0" * 9_000) * 50), BOUNDS, "larger than"),
    "truncated body": (answer(content_length=100), BOUNDS, "failed"),
    "truncated chunk": (
        answer(body=b"5\r\nhel", content_length=None, transfer_encoding="chunked"),
        BOUNDS,
        "failed",
    ),
    "a chunk without a size": (
        answer(body=b"zz\r\nhello\r\n", content_length=None, transfer_encoding="chunked"),
        BOUNDS,
        "failed",
    ),
    "a chunk of less than nothing": (
        answer(body=b"-5\r\nhello\r\n", content_length=None, transfer_encoding="chunked"),
        BOUNDS,
        "failed",
    ),
    "one huge header": (answer(x_more="y" * 1_000_000), BOUNDS, "failed"),
    "a header that is none": (b"HTTP/1.1 200 OK\r\nno header\r\n\r\nhello", BOUNDS, "failed"),
    "truncated compression": (
        compressed(gzip.compress(b"hello\n")[:-9]),
        BOUNDS,
        "body is incomplete",
    ),
    "damaged compression": (compressed(b"\x1f\x8b not gzip"), BOUNDS, "compression is damaged"),
    "unasked encoding": (answer(content_encoding="br"), BOUNDS, "was not requested"),
    "encoded twice": (answer(content_encoding="gzip, gzip"), BOUNDS, "was not requested"),
    "two lengths": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
        BOUNDS,
        "failed",
    ),
    "garbage": (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", BOUNDS, "failed"),
    "nothing at all": (b"", BOUNDS, "failed"),
    "circle": (redirect("/"), BOUNDS, "in a circle"),
    "circle until a cookie comes back": (
        answer("302 Found", b"", location="/", set_cookie="seen=1"),
        BOUNDS,
        "in a circle",
    ),
    "ever new redirects": (ever_deeper, BOUNDS, "more than 5 times"),
    "redirect to metadata": (redirect("http://169.254.169.254/latest/"), BOUNDS, "metadata"),
    "redirect to metadata, in disguise": (redirect("http://0xa9fea9fe/"), BOUNDS, "metadata"),
    "redirect to metadata, as IPv6": (
        redirect("http://[::ffff:169.254.169.254]/"),
        BOUNDS,
        "metadata",
    ),
    "redirect to metadata, by name": (redirect("http://metadata.google.internal/"), BOUNDS, "meta"),
    "redirect to a file": (redirect("file:///etc/passwd"), BOUNDS, "scheme is file"),
    "redirect with credentials": (redirect("http://a:b@site.example/"), BOUNDS, "credentials"),
    "redirect to another protocol's port": (redirect("http://site.example:25/"), BOUNDS, "port 25"),
    "redirect to nowhere": (answer("302 Found"), BOUNDS, "without a location"),
    "redirect to nonsense": (redirect("http://[::bad/"), BOUNDS, "malformed|refused|failed"),
    "asks to wait long": (answer("429 Too Many", retry_after="3600"), BOUNDS, "wait 3600 s"),
    "always busy": (answer("503 Busy", retry_after="0"), BOUNDS, "wait 0 s"),
    "busy without a word": (answer("429 Too Many"), BOUNDS, "answered 429"),
    "not found": (answer("404 Not Found"), BOUNDS, "answered 404 Not Found"),
    "defect": (answer("500 Oops"), BOUNDS, "answered 500"),
    "no content": (answer("204 No Content", b"", content_length=None), BOUNDS, "answered 204"),
    "a part only": (answer("206 Partial Content"), BOUNDS, "answered 206"),
}


@pytest.mark.parametrize("case", MISBEHAVIOUR)
async def test_a_server_that_misbehaves_is_an_error_that_says_how(case):
    page, bounds, said = MISBEHAVIOUR[case]
    async with serving({"/": page}) as web:
        if page is ever_deeper:
            web.pages |= {f"/{'x' * n}": page for n in range(20)}
        with pytest.raises(FetchError, match=said):
            await get(web.url("/"), judge=anything, network=web.network(), bounds=bounds)


@pytest.mark.parametrize(
    ("page", "body"),
    [
        (answer(), b"hello\n"),
        (compressed(gzip.compress(b"hello\n")), b"hello\n"),
        (compressed(gzip.compress(b"hel") + gzip.compress(b"lo\n") + b"\0\0"), b"hello\n"),
        (answer(body=zlib.compress(b"hello\n"), content_encoding="deflate"), b"hello\n"),
        (answer(body=zlib.compress(b"hello\n")[2:-4], content_encoding="deflate"), b"hello\n"),
        (answer(content_encoding="identity"), b"hello\n"),
        (answer(content_length=None), b"hello\n"),
        (
            answer(
                body=b"3\r\nhel\r\n3\r\nlo\n\r\n0\r\n\r\n",
                content_length=None,
                transfer_encoding="chunked",
            ),
            b"hello\n",
        ),
        (answer(body=b""), b""),
        (answer(body=b"hello\nand what was not announced", content_length=6), b"hello\n"),
    ],
)
async def test_a_body_comes_whole_however_it_is_sent(page, body):
    async with serving({"/": page}) as web:
        response = await get(web.url("/"), judge=anything, network=web.network(), bounds=BOUNDS)
    assert response.body == body


async def test_redirects_are_followed_and_every_hop_is_judged_and_resolved_once():
    judged = []
    async with serving({"/a": redirect("b?x=1#part"), "/b?x=1": answer()}) as web:
        web.pages["/"] = redirect(web.url("/a", "other.example"), "308 Permanent Redirect")
        response = await get(
            web.url("/#top"), judge=judged.append, network=web.network(), bounds=BOUNDS
        )
        hops = [web.url("/"), web.url("/a", "other.example"), web.url("/b?x=1", "other.example")]
    assert response.url == hops[-1]
    assert judged == hops
    assert web.resolved == ["site.example", "other.example", "other.example"]
    assert [f"Host: other.example:{web.port}" in head for head in web.asked] == [False, True, True]


async def test_a_judge_is_heeded_at_every_hop():
    def judge(url):
        if "evil" in url:
            raise FetchError("a rule denies it")

    async with serving({"/": redirect("http://evil.example/")}) as web:
        with pytest.raises(FetchError, match="a rule denies it"):
            await get(web.url("/"), judge=judge, network=web.network(), bounds=BOUNDS)
    assert web.resolved == ["site.example"]


async def test_a_name_that_resolves_elsewhere_the_second_time_is_asked_but_once():
    """The address that was checked is the one that is connected to."""
    async with serving({"/": answer()}) as web:
        turns = iter([["127.0.0.1"], ["169.254.169.254"]])

        async def rebinding(host, port):
            return next(turns)

        network = web.network(resolve=rebinding)
        response = await get(web.url("/"), judge=anything, network=network, bounds=BOUNDS)
        assert response.body == b"hello\n"
        with pytest.raises(FetchError, match="metadata"):
            await get(web.url("/"), judge=anything, network=network, bounds=BOUNDS)
    assert len(web.asked) == 1


@pytest.mark.parametrize(
    ("addresses", "allow_private", "said"),
    [
        (["127.0.0.1"], False, "this machine"),
        (["10.0.0.1"], False, "private network"),
        (["::ffff:127.0.0.1"], False, "this machine"),
        (["127.0.0.1", "169.254.169.254"], True, "metadata"),
        (["fe80::1"], True, "link-local"),
        (["0.0.0.0"], True, "not an address"),
        ([], True, "no address"),
    ],
)
async def test_where_a_name_leads_decides_before_anything_is_connected(
    addresses, allow_private, said
):
    async with serving({"/": answer()}) as web:
        web.addresses["site.example"] = addresses
        network = web.network(allow_private=allow_private)
        with pytest.raises(FetchError, match=said):
            await get(web.url("/"), judge=anything, network=network, bounds=BOUNDS)
    assert web.asked == []


async def test_a_name_without_addresses_is_told():
    async def unknown(host, port):
        raise OSError(-2, "Name or service not known")

    async with serving({}) as web:
        with pytest.raises(FetchError, match=r"cannot resolve .*Name or service"):
            await get(
                web.url("/"), judge=anything, network=web.network(resolve=unknown), bounds=BOUNDS
            )


async def test_the_next_address_is_tried_where_the_first_takes_no_connection():
    async with serving({"/": answer()}) as web:
        web.addresses["site.example"] = ["127.0.0.2", "127.0.0.1"]
        response = await get(web.url("/"), judge=anything, network=web.network(), bounds=BOUNDS)
    assert response.body == b"hello\n"


async def test_nobody_listening_is_told():
    async with serving({}) as web:
        port = web.port
    with pytest.raises(FetchError, match="failed"):
        await get(
            f"http://site.example:{port}/", judge=anything, network=web.network(), bounds=BOUNDS
        )


@pytest.mark.parametrize("wait", ["0", "date"])
async def test_a_busy_server_is_asked_again_when_it_says(wait):
    retry_after = email.utils.formatdate(time.time(), usegmt=True) if wait == "date" else wait
    pages = iter([answer("503 Busy", retry_after=retry_after), answer()])

    async def busy_once(stream, head):
        await stream.send_all(next(pages))

    async with serving({"/": busy_once}) as web:
        response = await get(web.url("/"), judge=anything, network=web.network(), bounds=BOUNDS)
    assert response.body == b"hello\n"
    assert len(web.asked) == 2


async def test_validators_are_sent_to_their_own_address_only():
    pages = {"/": redirect("/final"), "/final": answer("304 Not Modified", b"")}
    async with serving(pages) as web:
        final = web.url("/final")
        response = await get(
            web.url("/"),
            judge=anything,
            network=web.network(),
            bounds=BOUNDS,
            validators=lambda url: ('"v1"', "Sat, 1 Jan 2022") if url == final else None,
        )
    assert response.unchanged
    assert ["If-None-Match" in head or "if-none-match" in head for head in web.asked] == [
        False,
        True,
    ]


async def test_no_credentials_cookies_or_proxies_of_the_user_are_used(monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine site.example login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with serving({"/": answer(set_cookie="a=b")}) as web:
        for _ in range(2):
            await get(web.url("/"), judge=anything, network=web.network(), bounds=BOUNDS)
    assert not any(
        "cookie" in head.lower() or "authorization" in head.lower() for head in web.asked
    )


def server_side(certificate) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    return context


async def test_over_tls_the_name_must_be_proven_though_an_address_is_connected_to():
    authority = trustme.CA()
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    tls = server_side(authority.issue_cert("site.example"))
    async with serving({"/": answer()}, tls) as web:

        async def over_tls(host, certificates):
            return await get(
                web.url("/", host, "https"),
                judge=anything,
                network=web.network(certificates=certificates),
                bounds=BOUNDS,
            )

        assert (await over_tls("site.example", trusting)).body == b"hello\n"
        with pytest.raises(FetchError, match=r"cannot verify the certificate of .*match"):
            await over_tls("other.example", trusting)
        with pytest.raises(FetchError, match="cannot verify the certificate"):
            await over_tls("site.example", None)


async def test_a_server_without_tls_is_told():
    async with serving({"/": answer()}) as web:
        url = web.url("/", scheme="https")
        with pytest.raises(FetchError, match=r"in time|prove"):
            await get(url, judge=anything, network=web.network(), bounds=IMPATIENT)


async def test_cancelling_ends_it():
    async with serving({"/": silent}) as web:
        with trio.move_on_after(0.2) as scope:
            await get(web.url("/"), judge=anything, network=web.network(), bounds=BOUNDS)
    assert scope.cancelled_caught
