"""Pinned facts are told where a conversation begins: within 400 tokens, cheaply, as data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ctxmode.config.locations import Config
from ctxmode.hosts.hooks import session_hooks
from ctxmode.hosts.hooks.hook_event import Event
from ctxmode.hosts.hooks.session_hooks import answer_hook
from ctxmode.operations.facts import open_memory
from kb.tokens import estimate_tokens
from memory.facts.model import Draft


@dataclass
class Place:
    """A project with facts, and its host."""

    config: Config

    def remember(self, text: str, key: str, **more: Any) -> None:
        scope = "user" if more.get("scope") == "user" else "project"
        with open_memory(self.config, to_write=scope) as memory:
            memory.remember(Draft(text, key=key, is_pinned=True, **more))

    def ring(self, purpose: Any = "open", host: str = "claude-code", **event: Any) -> str:
        config = self.config
        names = (str(one) for one in (config.project, config.home, config.data_dir))
        environ = {"HOME": str(config.home)} | event.pop("environ", {})
        return answer_hook(Event(host, purpose, {"session_id": "s"} | event, *names, environ))

    @property
    def log(self) -> Path:
        return self.config.log_dir / "bells.log"


@pytest.fixture
def place(tmp_path):
    folders = [tmp_path / name for name in ("project", "home", "data")]
    for folder in folders:
        folder.mkdir()
    return Place(Config(*folders))


def test_without_facts_nothing_is_said_or_made(place):
    assert place.ring(source="startup") == ""
    assert list(place.config.data_dir.iterdir()) == []


def test_pinned_facts_of_project_and_user_are_told_and_others_are_not(place):
    place.remember("Be kind.", "kind")
    place.remember("Answer shortly.", "style", scope="user")
    place.remember("Of one session.", "mine", scope="session")
    with open_memory(place.config, to_write="project") as memory:
        memory.remember(Draft("Not pinned.", key="other"))
        memory.remember(Draft("Soon over.", key="over", is_pinned=True, ttl_s=0.001))
    time.sleep(0.01)
    text = place.ring(source="startup")
    assert "> Be kind." in text
    assert "> Answer shortly." in text
    assert "not instructions" in text
    for left_out in ("Not pinned", "Of one session", "Soon over"):
        assert left_out not in text


def test_of_one_path_the_nearer_scope_is_told(place):
    place.remember("Tabs here.", "tabs")
    place.remember("Blanks elsewhere.", "tabs", scope="user")
    text = place.ring(source="startup")
    assert "Tabs here." in text
    assert "Blanks elsewhere." not in text


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
def test_they_are_told_wherever_they_are_not_in_the_conversation_yet(place, source):
    place.remember("Be kind.", "kind")
    assert "Be kind." in place.ring(source=source)


def test_a_resumed_conversation_has_them_already(place):
    place.remember("Be kind.", "kind")
    assert place.ring(source="resume") == ""


def test_no_more_than_400_tokens_are_told_and_what_does_not_fit_is_skipped(place):
    place.remember("long " * 1000, "a", title="A")
    for number in range(40):
        place.remember(f"Rule {number}: " + "word " * 20, f"r{number}", title=f"B{number:02}")
    text = place.ring(source="startup")
    assert "Rule 0:" in text
    assert "long long" not in text
    assert estimate_tokens(text) <= session_hooks.TOKENS_MAX


@pytest.mark.parametrize("where", ["user", "project", "environment"])
def test_it_can_be_turned_off(place, where):
    place.remember("Be kind.", "kind")
    environ = {}
    files = {
        "user": place.config.home / ".config/ctxmode/config.toml",
        "project": place.config.project / ".ctxmode/config.toml",
    }
    if where in files:
        files[where].parent.mkdir(parents=True)
        files[where].write_text("[memory]\nsession_start = false\n")
    else:
        environ["CONTEXT_MODE_MEMORY_SESSION_START"] = "false"
    assert place.ring(source="startup", environ=environ) == ""


def test_a_project_cannot_turn_it_on_again(place):
    place.remember("Be kind.", "kind")
    for folder, word in ((place.config.home / ".config/ctxmode", "false"),
                         (place.config.project / ".ctxmode", "true")):  # fmt: skip
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(f"[memory]\nsession_start = {word}\n")
    assert place.ring(source="startup") == ""


def test_a_damaged_file_is_silent_and_logged(place):
    place.remember("Be kind.", "kind")
    place.config.facts_file.write_bytes(b"no database" * 100)
    assert place.ring(source="startup") == ""
    assert "DatabaseError" in place.log.read_text()


def test_no_other_bell_tells_them(place):
    place.remember("Be kind.", "kind")
    for purpose in ("prompt", "act", "end"):
        assert "Be kind" not in place.ring(purpose)
