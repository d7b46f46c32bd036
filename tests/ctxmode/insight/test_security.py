"""Only who has the key sees anything, once; and a browser may do nothing else with a page."""

import pytest

from ctxmode.insight.site import FILES
from tests.ctxmode.insight.visitors import HOST

OWN = f"http://{HOST}"


def test_the_key_is_spent_once_for_a_cookie_that_opens_the_pages(browser):
    status, headers, _ = browser.enter()
    assert (status, headers["location"]) == (303, "/")
    assert "httponly" in headers["set-cookie"].lower()
    assert "samesite=strict" in headers["set-cookie"].lower()
    assert browser.ask("/")[0] == 200
    status, headers, _ = browser.ask(f"/enter?key={browser.gate.key}", cookie=None)
    assert status == 403
    assert "set-cookie" not in headers


REFUSED = (
    ("no cookie", {"cookie": None}, 403),
    ("another cookie", {"cookie": "insight-4711=x"}, 403),
    ("the cookie of another port", {"cookie": "insight-4712=x"}, 403),
    ("a name that resolves to here", {"host": "evil.example:4711"}, 421),
    ("the host without its port", {"host": "127.0.0.1"}, 421),
    ("another name of this machine", {"host": "localhost:4711"}, 421),
    ("no host", {"host": None}, 421),
    ("two hosts", {"host": [HOST, "evil.example"]}, 400),
    ("another site", {"sec_fetch_site": "cross-site"}, 403),
    ("another port of this machine", {"sec_fetch_site": "same-site"}, 403),
    ("another origin", {"origin": "http://127.0.0.1:9"}, 403),
    ("an opaque origin", {"origin": "null"}, 403),
    ("a POST", {"method": "POST"}, 405),
    ("a PUT", {"method": "PUT"}, 405),
    ("OPTIONS", {"method": "OPTIONS"}, 405),
)
LET_IN = (
    ("typed", {"sec_fetch_site": "none"}),
    ("a link of its own", {"sec_fetch_site": "same-origin"}),
    ("an old browser", {"sec_fetch_site": None}),
    ("its own origin", {"origin": OWN}),
    ("HEAD", {"method": "HEAD"}),
)


@pytest.mark.parametrize(
    ("headers", "status"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_is_refused_learns_nothing_and_keeps_no_server_awake(visitor, headers, status):
    before = visitor.asked
    answered, sent, text = visitor.ask("/runs", **headers)
    assert answered == status
    assert "nonzero" not in text
    assert sent["content-security-policy"].startswith("default-src 'none'")
    assert visitor.asked == before


@pytest.mark.parametrize("headers", [case[1] for case in LET_IN], ids=[case[0] for case in LET_IN])
def test_what_is_let_in_sees_the_page(visitor, headers):
    status, _, text = visitor.ask("/runs", **headers)
    assert status == 200
    assert "nonzero exit" in text
    assert visitor.asked == 1


@pytest.mark.parametrize("target", ["/enter", "/enter?key=", "/enter?key=x", "/enter?key=%ff"])
def test_a_wrong_key_opens_nothing_and_does_not_spend_the_right_one(browser, target):
    assert browser.ask(target)[0] == 403
    assert browser.enter()[0] == 303


def test_a_look_at_the_head_does_not_spend_the_key(browser):
    assert browser.ask(f"/enter?key={browser.gate.key}", method="HEAD")[0] == 403
    assert browser.enter()[0] == 303


@pytest.mark.parametrize("path", ["/", "/nothing", *FILES])
def test_every_answer_says_what_a_browser_may_not(visitor, path):
    _, headers, _ = visitor.ask(path)
    policy = headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy)
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/static/../server.py", "/static/", "/static/uplot/LICENSE", "//etc/passwd"],
)
def test_only_what_is_in_the_tables_is_served(visitor, path):
    assert visitor.ask(path)[0] == 404
    assert visitor.ask("/static/uplot-licence.txt")[0] == 200
