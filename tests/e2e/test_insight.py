"""The page in a real browser: whole at 400 and 1,280 px, accessible, inert, and asking nobody else.

Debian's Chromium is driven by playwright; axe-core looks for what a reader could not use.
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ctxmode.insight.pages import PAGES
from ctxmode.operations.facts import open_memory
from memory.facts.model import Author, Draft
from tests.ctxmode.insight.made_project import Amounts, fill, make_place
from tests.needs import need

COMMAND = (sys.executable, "-m", "ctxmode", "doctor", "insight")
WIDTHS = (400, 1280)
END_S_MAX = 30
HOSTILE = "<img src=http://evil.example/x onerror=alert(1)><script>alert(1)</script>"
OPEN = {
    "session": "/sessions",
    "fact": "/memory",
    "page": "/pages",
    "source": "/store",
}
"""The pages of one thing, and the list whose first link leads to one."""


def find_chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        need("chromium")
    return found


@dataclass(frozen=True)
class Served:
    """A server of its own, and the address that it printed."""

    address: str
    config: object
    environment: dict

    @property
    def base(self):
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    config = make_place(tmp_path_factory.mktemp("insight").resolve())
    fill(config, Amounts(sessions=4, runs=60, sources=8), now=time.time())
    with open_memory(config, Author("user"), to_write="project") as memory:
        memory.remember(Draft(HOSTILE, title=HOSTILE, path="/memory/a/hostile"))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(config.home),
        "XDG_CONFIG_HOME": str(config.config_home),
        "CONTEXT_MODE_DIR": str(config.data_dir),
        "CONTEXT_MODE_INSTANCE_SHARED": "off",
        "CONTEXT_MODE_PROJECT_DIR": str(config.project),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    process = subprocess.Popen(COMMAND, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield Served(process.stdout.readline().strip(), config, environment)
    finally:
        process.terminate()
        process.communicate(timeout=END_S_MAX)
    assert process.returncode == 128 + 15


@contextmanager
def chromium():
    path = find_chromium()
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is missing")
    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=options)
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """What a page did that it must not: errors, dialogs, requests elsewhere."""

    def __init__(self, context, base):
        self.wrong = []
        self._base = base
        context.on("request", self._see_request)
        context.on("console", self._see_message)
        context.on("weberror", lambda error: self.wrong.append(str(error.error)))
        context.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))

    def _see_request(self, request):
        if not request.url.startswith((self._base, "data:")):
            self.wrong.append(f"asked for {request.url}")

    def _see_message(self, message):
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)


def list_addresses(page, base):
    """Every page of the site, those of one thing by a link to the first."""
    addresses = []
    for row in PAGES:
        if row.name in OPEN:
            page.goto(base + OPEN[row.name])
            link = page.locator(f'main a[href^="/{row.name}?"]').first
            addresses.append(link.get_attribute("href"))
        else:
            addresses.append(row.path)
    return [*addresses, "/search?q=upload+retry", "/nothing"]


def find_overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_every_page_in_a_browser(served):
    axe_module = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is missing"
    )
    axe = axe_module.Axe()
    found = []
    with chromium() as browser:
        context = browser.new_context()
        watch = Watch(context, served.base)
        page = context.new_page()
        page.goto(served.address)
        assert page.url == served.base + "/"
        addresses = list_addresses(page, served.base)
        for width, scheme in zip(WIDTHS, ("dark", "light"), strict=True):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            for address in addresses:
                page.goto(served.base + address)
                if find_overflow(page) > 0:
                    found.append(f"{address} at {width} px is wider than the window")
                for finding in axe.run(page).response["violations"]:
                    targets = [node["target"] for node in finding["nodes"]]
                    found.append(f"{address} at {width} px: {finding['id']} {targets[:3]}")
            page.goto(served.base + "/")
            if page.locator(".plot.live canvas").count() != 2:
                found.append(f"no charts at {width} px")
        page.goto(served.base + "/memory")
        assert page.get_by_text(HOSTILE, exact=True).count() == 1
        watch.wrong = [one for one in watch.wrong if "404" not in one]  # of /nothing, asked for
        assert (found, watch.wrong) == ([], [])
        # The key is spent: another profile of the browser has no cookie, and gets none.
        other = browser.new_context().new_page()
        assert other.goto(served.address).status == 403
        assert other.goto(served.base + "/").status == 403


def test_the_file_is_whole_without_scripts_and_asks_for_nothing(served, tmp_path):
    file = tmp_path / "insight.html"
    done = subprocess.run(
        [*COMMAND, "--html", str(file)], env=served.environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with chromium() as browser:
        context = browser.new_context(java_script_enabled=False)
        watch = Watch(context, file.as_uri())
        page = context.new_page()
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        page.goto(file.as_uri())
        for row in PAGES:
            assert page.locator(f"article#{row.name}").is_visible() == row.is_in_file
        assert page.locator("svg.still").first.is_visible()
        assert page.locator("article").first.bounding_box()["width"] <= WIDTHS[0]
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius")
            == "12px"
        )
        assert watch.wrong == []
