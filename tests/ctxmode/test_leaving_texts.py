"""Every way by which a text leaves or is kept: no secret passes, however it is spelled.

Each door is tried with each spelling, and as a control with the same spelling of words that are no
secret, which pass.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from base.secrets import find_form, find_secrets, redact
from ctxmode import crash_report
from ctxmode.commands.doctor import anonymous
from ctxmode.hosts.hooks import verdicts
from ctxmode.hosts.hooks.hook_types import Ruling
from ctxmode.insight import site
from ctxmode.mcp import client as consent
from ctxmode.mcp import conversation
from ctxmode.mcp.client import Client
from ctxmode.mcp.protocol import ProtocolError
from ctxmode.operations import audit, project_maps, usage
from ctxmode.render.redaction import redact_answer
from executor.model import Refusal
from executor.run.capture import Capture
from fleet import snapshot
from kb import Origin, Store
from kb.model import SourceSpec
from memory.gate import Gate
from memory.pages.cleaning import redact as redact_page
from tests.base.spellings import CASES, core_of, reveal

Door = Callable[[str, Path], str]
GATE = Gate(find_secrets)


def answer_data(text: str, _: Path) -> str:
    data = {"one": text, "more": [text, "word", {"deep": text}], text: 1}
    return " ".join(strings(redact_answer("", data)[1]))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for one in pair for text in strings(one))
    elif isinstance(value, list):
        yield from (text for one in value for text in strings(one))


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    with Store.open(folder / "kb.db", redact=find_secrets) as store:
        yield store


def store_text(text: str, folder: Path) -> str:
    with open_store(folder) as store:
        added = store.add(SourceSpec("a.log", Origin.RUN), f"needle\n{text}\n".encode())
        hits = [hit.text for result in store.search("needle") for hit in result.hits]
        return "\n".join([store.text(added.source_id).decode(), *hits])


def store_spool(text: str, folder: Path) -> str:
    """The text lies across the end of the part that is indexed at once."""
    spool = folder / "spool"
    spool.write_bytes(b"word word\n" * 3276 + text.encode() + b"\n" + b"word word\n" * 9000)
    with open_store(folder) as store:
        added = store.add_spool(SourceSpec("a.log"), spool, head_bytes=32_780, tail_bytes=16_384)
        while store.count_bytes_left(added.source_id):
            store.index_pending(1 << 20)
        return store.text(added.source_id).decode(errors="replace")


def progress(text: str, _: Path) -> str:
    """What a program prints comes in pieces."""
    conversation = SimpleNamespace(owner="", holder="", envelope=SimpleNamespace(client=""))
    client, seen = Client(conversation, SimpleNamespace()), []
    printed = f"{text}\nlast\n".encode()
    for at in range(0, len(printed), 11):
        client.take_output("stdout", printed[at : at + 11])
        seen.append(client._latest())
    return "\n".join(seen)


def log_message(text: str, _: Path) -> str:
    sent = []

    async def tell(_: str, message: dict[str, Any]) -> None:
        sent.append(message["data"])

    record = logging.LogRecord("ctxmode", logging.WARNING, "", 1, "%s", (text,), None)
    trio.run(conversation.tell, SimpleNamespace(tell=tell), deque([record]), frozenset(["warning"]))
    return sent[0]


def crash(text: str, folder: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crash_report, "_folder", lambda: folder)
        told = crash_report.report(ValueError(text))
    return told + "".join(path.read_text() for path in folder.glob("*.log"))


def refusal(text: str, _: Path) -> str:
    masked = usage.mask(Refusal("read", text, "sandbox", "sure", 1, text))
    return f"{masked.target} {masked.remedy}"


def hook_reason(text: str, _: Path) -> str:
    said, _verdicts = json.loads(verdicts._pack(Ruling("deny", text), ()))
    return said[1]


def insight_page(text: str, _: Path) -> str:
    data = {"query": "", "problem": text, "corrections": (), "hits": ()}
    page = SimpleNamespace(name="search", build=lambda *_: data)
    return unescape(str(site.render_body(page, SimpleNamespace(problems=()), None)))


def shown_diff(text: str, _: Path) -> str:
    diff = "".join(f"+{line}\n" for line in text.split("\n"))
    return redact_answer(f"@@ -0,0 +1,9 @@\n{diff}", {})[0]


def capture(text: str, folder: Path) -> str:
    taken = Capture(folder / "spool", 6000)
    taken.feed(f"{'x ' * 1780}{text} {'y ' * 9000}".encode())
    taken.close()
    stream = taken.stream()
    return redact_answer(stream.head + "\n" + stream.tail, {})[0]


DOORS: dict[str, Door] = {
    "an answer": lambda text, _: redact_answer(text, {})[0],
    "an answer's data": answer_data,
    "output that is cut": capture,
    "the store and a search": store_text,
    "a file that is indexed in parts": store_spool,
    "a fact or a session": lambda text, _: GATE.clean(text),
    "a session's call": lambda text, _: str(GATE.clean_value({"a": [text, {"b": text}]}, 20_000)),
    "the ends of a session's output": lambda text, _: GATE.clean_ends(f"{text}\nend", 100_000),
    "a page": lambda text, _: redact_page(text, find_secrets)[0],
    "a map and a pack": lambda text, _: project_maps.redact(text)[0],
    "a map's words": lambda text, _: project_maps.hide_secrets(text.encode()).decode(),
    "progress": progress,
    "a log message": log_message,
    "the log of verdicts": lambda text, _: audit.cut_excerpt(text),
    "the log of a defect": crash,
    "a refusal": refusal,
    "an error of the protocol": lambda text, _: ProtocolError(-1, text).message,
    "a question to the user": lambda text, _: consent.word_question({"question": text}),
    "a hook's reason": hook_reason,
    "a page of insight": insight_page,
    "a diff of changes": shown_diff,
    "a report": lambda text, _: anonymous(text, {}),
}


@pytest.mark.parametrize("name", DOORS)
def test_no_spelling_passes_a_door_and_the_same_words_do(name, tmp_path):
    for number, (spelling, spell, secret, harmless) in enumerate(CASES):
        results = []
        for which, it in (("secret", secret), ("harmless", harmless)):
            folder = tmp_path / f"{number}-{which}"
            folder.mkdir()
            results.append(DOORS[name](spell(it), folder))
        assert core_of(secret) not in reveal(results[0]), spelling
        assert "[REDACTED" not in results[1], spelling
    assert core_of(secret) in reveal(spell(secret))


@pytest.mark.parametrize(
    ("spelling", "spell", "secret"), [case[:3] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_holds_a_secret_stays_on_this_machine(spelling, spell, secret):
    values = SimpleNamespace(
        env={},
        files={},
        stdin=None,
        code=spell(secret),
        args=(),
        packages=(),
        artifacts=(),
        intent="",
    )
    assert snapshot.find_secret(values), spelling
    if "token" in spelling or "key" in spelling:
        assert bool(find_form(spell(secret).encode())) == ("name" not in spelling), spelling


def test_redacting_is_what_the_doors_have_in_common():
    """The control of the doors: without it each text says its secret."""
    for _, spell, secret, _ in CASES:
        assert core_of(secret) in reveal(spell(secret))
        assert redact(spell(secret))[1]
