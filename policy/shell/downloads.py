"""Downloads by curl and wget: what they fetch, and whether anyone would see it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from base.wordlist import word_set
from policy import marks
from policy.model import Download, EffectPlace

if TYPE_CHECKING:
    from policy.shell.call import ProgramCall

_TO_STDOUT = word_set("- /dev/stdout /dev/fd/1 /dev/tty")


def run_download(call: ProgramCall) -> str | None:
    """Report every URL; return what reaches stdout."""
    urls = [word for word in call.operands() if _is_url(word)]
    urls += call.parsed.values(("url",))
    prints = _curl_prints(call, len(urls)) if call.name == "curl" else _wget_prints(call)
    place = EffectPlace(call.walk.span or (0, 0), call.walk.text, call.walk.nesting)
    for url in urls:
        if url.startswith("file://"):
            path = url.removeprefix("file://").removeprefix("localhost")
            call.report_files(path)
        download = Download(url, prints and call.walk.is_visible, call.argv, place)
        call.walk.report(download)
        if prints and call.walk.is_captured:
            call.walk.findings.captured.append(download)
    if not prints:
        for target in _targets(call, urls):
            call.state.files[call.state.resolve(target)] = marks.FETCHED
            call.report_files(target, is_write=True)
    return marks.FETCHED if prints else ""


def _targets(call: ProgramCall, urls: list[str]) -> list[str]:
    """Return the files that a download is written to."""
    given = [*call.parsed.values(("o", "output", "O", "output-document"))]
    if given or call.parsed.has("I", "head", "spider"):
        return given
    folder = next(call.parsed.values(("P", "directory-prefix", "output-dir")), ".")
    return [f"{folder}/{url.split('?')[0].rsplit('/', 1)[-1]}" for url in urls if "/" in url]


def _is_url(word: str) -> bool:
    looks_like_one = re.match(r"https?:|ftp:|file:|localhost|\[|[^/]*\.", word)
    return bool(word) and (looks_like_one is not None or not marks.is_known(word))


def _curl_prints(call: ProgramCall, urls: int) -> bool:
    """Return whether a body goes to stdout: no `-I`, and fewer `-o` or `-O` than URLs."""
    parsed = call.parsed
    targets = list(parsed.values(("o", "output")))
    if any(target in _TO_STDOUT for target in targets):
        return True
    if parsed.has("O", "remote-name", "remote-name-all", "I", "head", "J", "T", "upload-file"):
        return False
    return len(targets) < urls or not targets


def _wget_prints(call: ProgramCall) -> bool:
    """Return whether it prints: only with `-O -`; a plain wget writes a file."""
    targets = list(call.parsed.values(("O", "output-document")))
    return any(target in _TO_STDOUT for target in targets) and not call.parsed.has("spider")
