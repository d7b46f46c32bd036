"""What is kept keeps to its quotas while a project is open, and both are told."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace

import pytest
import trio

from ctxmode.app import open_app
from ctxmode.config.locations import load_config
from ctxmode.doctor.diagnosis import Diagnosis, PartHealth
from ctxmode.operations import quotas
from ctxmode.operations.indexing import IndexRequest
from ctxmode.operations.library import open_library
from ctxmode.operations.quotas import Holdings, read_holdings
from ctxmode.render import health
from ctxmode.render.health import holdings_lines
from executor import Isolation
from kb import eviction
from kb.all_stores import QuotaReport
from kb.eviction import Eviction

QUOTA = 2_000_000


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A project with small quotas, and nothing kept yet."""
    monkeypatch.setenv("CONTEXT_MODE_QUOTA_PROJECT_BYTES", str(QUOTA))
    project = tmp_path / "project"
    project.mkdir()
    environ = {"CONTEXT_MODE_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)}
    found = load_config(str(project), environ=environ)
    return replace(found, config_home=tmp_path / "config")


def content(number: int) -> bytes:
    words = random.Random(number)
    return "\n".join(f"source{number} {words.random()}" for _ in range(8000)).encode()


def fill(config, count: int) -> None:
    with open_library(config) as library:
        for n in range(count):
            library.index(IndexRequest(content=content(n), source=f"text {n:02}"))


def test_what_is_indexed_from_the_command_line_keeps_to_the_quota(config):
    fill(config, 15)
    assert eviction.of_store(config.database).total <= 1.5 * QUOTA
    holdings = read_holdings(config)
    assert sum(one.sources for one in holdings.dropped) > 3
    assert holdings.quota_bytes == QUOTA


async def test_a_server_keeps_to_the_quota_of_all_projects(config, monkeypatch, tmp_path):
    fill(config, 4)
    monkeypatch.setenv("CONTEXT_MODE_QUOTA_ALL_BYTES", str(QUOTA // 2))
    other = tmp_path / "other"
    other.mkdir()
    assert eviction.of_store(config.database).total > QUOTA // 2
    async with open_app(replace(config, project=other)):
        with trio.fail_after(60):
            while read_holdings(config).all_used_bytes > QUOTA // 2:
                await trio.lowlevel.checkpoint()
    (dropped,) = read_holdings(config).dropped
    assert dropped.quota == "all"


def test_a_project_may_lower_its_own_quota_but_not_that_of_all(config, monkeypatch):
    monkeypatch.delenv("CONTEXT_MODE_QUOTA_PROJECT_BYTES")
    folder = config.project / ".ctxmode"
    folder.mkdir()
    given = '[quota]\nproject_bytes = "1M"\nall_bytes = "1M"\n'
    (folder / "config.toml").write_text(given)
    assert quotas.load_quotas(config) == (1024**2, 8 * 1024**3)
    (folder / "config.toml").write_text('[quota]\nproject_bytes = "9G"\n')
    assert quotas.load_quotas(config) == (2 * 1024**3, 8 * 1024**3)


HOLDINGS = Holdings(
    3 << 20,
    4 << 20,
    5 << 20,
    8 << 20,
    2,
    (Eviction(1.7e9, "project", 12, 2 << 20, 1.7e9), Eviction(1.6e9, "all", 1, 1 << 10, None)),
    QuotaReport(1.7e9, passed_over={"old.sqlite3": "old.sqlite3: it is damaged"}),
)


def test_used_quota_and_what_was_dropped_are_told_in_short_lines():
    used, first, second, passed_over = holdings_lines(HOLDINGS)
    assert "3.0 MB of 4.0 MB for this project" in used
    assert "5.0 MB of 8.0 MB for all projects (2)" in used
    assert "the project's quota" in first
    assert "12 of the oldest sources, 2.0 MB of text" in first
    assert "the quota of all projects" in second
    assert "still running" in second
    assert "old.sqlite3: it is damaged" in passed_over


def test_they_are_told_as_json_too():
    told = json.loads(json.dumps(asdict(HOLDINGS)))
    assert (told["used_bytes"], told["quota_bytes"]) == (3 << 20, 4 << 20)
    assert [one["sources"] for one in told["dropped"]] == [12, 1]
    assert told["of_all"]["passed_over"]


def test_doctor_tells_them(config):
    good = PartHealth(True, "good")
    diagnosis = Diagnosis("/p", {}, Isolation("A"), good, good, holdings=HOLDINGS)
    assert diagnosis.to_json()["on_disk"] == asdict(HOLDINGS)
    assert "3.0 MB of 4.0 MB for this project" in health.doctor_text(diagnosis)


@pytest.mark.parametrize("content", [None, b"", b"damaged" * 1000])
def test_a_store_that_cannot_be_read_hides_no_figures(config, content):
    if content is not None:
        config.database.parent.mkdir(parents=True)
        config.database.write_bytes(content)
    holdings = read_holdings(config)
    assert holdings.used_bytes == len(content or b"")
    assert holdings.dropped == ()
