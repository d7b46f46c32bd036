"""Which of our hooks Codex runs, by what its configuration says was reviewed.

The hashes are those that Codex 0.169.0 told of these hooks (`codex app-server`, `hooks/list`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxmode.hosts.codex.review import describe_review
from ctxmode.hosts.setup import plan
from ctxmode.hosts.setup.hosts import BY_NAME
from ctxmode.hosts.setup.target import Target

TOLD = {
    "session_start": "40550a81182cd5140d8621e7ed7cc6f3633db070aae3dfe47d1671381439d442",
    "pre_compact": "cc9c3eccf493f6c7918bf537f115b5f2a6988979d6d65b7ab219cf6f487663c3",
    "user_prompt_submit": "d6b2d11c60aa9b88d5e1c70cb5342c39d637acaaae88c31f98631ca377924dac",
    "stop": "50cae227d7e87c926e20a0e8922fee2465d855f42e81a61c7af55c7fd22105ba",
    "session_end": "542671b8f3efbc3c2410b2e176d8f80c99c10c519fffa77ab10c0395e08a3d56",
    "pre_tool_use": "8e1c14c7387fde48f3f574c44cb83aef253adbee12bbe605580a47beecf09c92",
}


@pytest.fixture
def target(tmp_path: Path) -> Target:
    there = Target("user", tmp_path / "home", tmp_path / "project", ("context-mode",))
    plan.write(plan.plan(BY_NAME["codex"], there))
    return there


def review(target: Target, hashes: dict[str, str], more: str = "") -> None:
    file = target.home / ".codex" / "hooks.json"
    with (target.home / ".codex" / "config.toml").open("a") as config:
        for event, value in hashes.items():
            config.write(f'\n[hooks.state."{file}:{event}:0:0"]\n{more}')
            config.write(f'trusted_hash = "sha256:{value}"\n')


def test_hooks_that_were_reviewed_run(target):
    review(target, TOLD)
    assert describe_review(target) == "Codex runs all 6 hooks: they have been reviewed."


@pytest.mark.parametrize(
    ("hashes", "more", "waiting"),
    [
        ({}, "", 6),
        ({"pre_tool_use": TOLD["pre_tool_use"]}, "", 5),
        (TOLD | {"pre_tool_use": "0" * 64}, "", 1),
        (TOLD, "enabled = false\n", 6),
    ],
    ids=["none reviewed", "one reviewed", "one changed since", "switched off"],
)
def test_hooks_that_codex_passes_over_are_counted(hashes, more, waiting, target):
    review(target, hashes, more)
    assert describe_review(target).startswith(f"Codex skips {waiting} of 6 hooks")


@pytest.mark.parametrize("config", ["broken = [", "hooks = 7", "[hooks]\nstate = []", None])
def test_nothing_is_said_of_a_configuration_that_cannot_be_read(config, target):
    file = target.home / ".codex" / "config.toml"
    file.unlink() if config is None else file.write_text(config)
    assert "reviewed." not in describe_review(target)


def test_nothing_is_said_where_nothing_is_registered(tmp_path: Path):
    assert describe_review(Target("user", tmp_path, tmp_path, ())) == ""
