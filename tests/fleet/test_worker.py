"""A worker runs what a front has sealed: on that project, as asked, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from executor.engine.engine import Completed, LanguageReport
from executor.model import Limits, Result, SandboxUnavailableError, Status
from executor.request import ANALYZE, PROFILES, Profile, ProjectAccess
from executor.service import LocalEngine
from fleet.model import PROTOCOL
from fleet.slot import WorkerTerms
from fleet.tree import BlobError, digest_of
from fleet.worker import Worker, open_worker
from tests.fleet.orders import TestFront, result_in, sealed, write_keys

Do = Callable[..., Awaitable[Mapping[str, Any]]]


@pytest.fixture
def front(project: Path) -> TestFront:
    return TestFront(project)


@pytest.fixture
def terms(tmp_path: Path) -> WorkerTerms:
    keys = write_keys(tmp_path / "fronts.toml")
    return WorkerTerms(tmp_path / "worker", keys, tmp_path / "rules.toml", at_once=1)


@pytest.fixture
async def worker(terms: WorkerTerms) -> AsyncIterator[Worker]:
    async with open_worker(terms) as opened:
        yield opened


@pytest.fixture
def do(worker: Worker, front: TestFront, tmp_path: Path) -> Do:
    """Have a program done for the project as it is now; the result that is handed back."""

    async def do_one(code: str, language: str = "shell", **more: Any) -> Mapping[str, Any]:
        out = tmp_path / f"out-{front.number}"
        out.mkdir()
        await worker.do(front.seal(code, language, **more), front.fetch, out)
        return result_in(out)

    return do_one


def shown(result: Mapping[str, Any]) -> str:
    assert (result["status"], result["message"]) == ("ok", "")
    return str(result["stdout"]["head"])


async def test_each_order_sees_its_own_tree_and_nothing_of_the_one_before(
    do: Do, project: Path, front: TestFront
):
    look = "find . -mindepth 1 | sort; cat $(find . -type f | sort)"
    (project / "kept").mkdir()
    (project / "kept" / "a").write_text("one\n")
    (project / "gone").write_text("secret of another\n")
    first = "./gone\n./kept\n./kept/a\nsecret of another\none\n"
    assert shown(await do(look)) == first
    (project / "gone").unlink()
    (project / "kept" / "a").write_text("two\n")
    (project / "late").mkdir()
    front.fetched.clear()
    assert shown(await do(look)) == "./kept\n./kept/a\n./late\ntwo\n"
    assert len(front.fetched) == 2  # the file that is new, and the list
    (project / "kept" / "a").unlink()
    (project / "kept").rmdir()
    (project / "kept").write_text("three\n")
    assert shown(await do(look, request={"cwd": "late"})) == ""
    assert shown(await do(look)) == "./kept\n./late\nthree\n"


async def test_a_folder_that_came_again_is_not_the_one_that_went(do: Do, project: Path):
    inner = project / "inner"
    for text in ("one", "two", "three"):
        inner.mkdir()
        (inner / "file").write_text(text)
        for _ in range(3):  # from the second on in a cell that waited
            assert shown(await do("cat file", request={"cwd": "inner"})) == text
        (inner / "file").unlink()
        inner.rmdir()
        assert shown(await do("ls")) == ""


async def test_nothing_is_written_where_the_project_lies(do: Do, project: Path, terms: WorkerTerms):
    (project / "a").write_text("one")
    written = await do("echo new > b; echo more >> a; rm -f c", request={"profile": "build"})
    assert written["status"] == "ok"
    assert [path.name for path in terms.folder.glob("slots/*/project/*")] == ["a"]
    assert (terms.folder / "slots/0/project/a").read_text() == "one"
    assert list(terms.folder.glob("state/changes/kept/*")) == []
    assert list(terms.folder.glob("state/spool/*/*")) == []


async def test_what_a_program_hands_back_leaves_nothing(do: Do, terms: WorkerTerms):
    code = "head -c 100000 /dev/zero | tr '\\0' x | tee made"
    result = await do(code, request={"artifacts": ("made",)})
    assert [(one["name"], one["bytes"]) for one in result["artifacts"]] == [("made", 100_000)]
    assert result["stdout"]["bytes_total"] == 100_000
    assert list(terms.folder.glob("state/spool/*/*")) == []


async def test_names_of_variables_bring_none_of_the_workers_own(
    do: Do, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OF_WORKER", "its secret")
    profile = replace(ANALYZE, env=("OF_WORKER",))
    given = {"env": {"OF_FRONT": "given"}}
    code = 'echo "$OF_FRONT ${OF_WORKER-unset}"'
    assert shown(await do(code, profile=profile, request=given)) == "given unset\n"


async def test_limits_and_profile_are_the_orders(do: Do):
    assert (await do("sleep 60", limits=Limits(wall_s=0.2)))["status"] == "timed_out"
    frozen = Profile("frozen", ProjectAccess.READ_ONLY)
    result = await do("echo x > new", profile=frozen)
    assert (result["status"], result["profile"]) == ("nonzero_exit", "frozen")


async def test_what_the_worker_cannot_give_is_told_and_not_run(do: Do, worker: Worker):
    result = await do("x", language="klingon")
    assert (result["status"], result["exit_code"]) == ("sandbox_unavailable", None)
    assert "klingon" in result["message"]
    strict = replace(PROFILES["analyze"], floor="A")
    result = await do("true", profile=strict)
    assert result["status"] == ("ok" if worker.tier == "A" else "sandbox_unavailable")


async def test_a_project_that_cannot_be_had_or_laid_out_costs_no_slot(
    worker: Worker, front: TestFront, tmp_path: Path, do: Do, monkeypatch: pytest.MonkeyPatch
):
    absent = digest_of(b"nobody has this")

    async def fetch_nothing(*_: object) -> None:
        raise BlobError("gone")

    with pytest.raises(BlobError, match="gone"):
        await worker.do(sealed(front.order("true", root=absent)), fetch_nothing, tmp_path)

    async def fetch_no_tree(digests: Any, cache: Any) -> None:
        cache.add(absent, [b"nobody has this"])

    out = tmp_path / "no-tree"
    out.mkdir()
    await worker.do(sealed(front.order("true", root=absent)), fetch_no_tree, out)
    assert result_in(out)["status"] == "sandbox_unavailable"
    assert shown(await do("echo on")) == "on\n"


async def test_a_slot_in_which_a_project_broke_is_opened_anew(
    do: Do, project: Path, monkeypatch: pytest.MonkeyPatch
):
    (project / "a").write_text("one")
    assert shown(await do("cat a")) == "one"
    (project / "b").write_text("two")
    with monkeypatch.context() as patched:
        patched.setattr("fleet.blob_cache.TREE_BYTES_MAX", 1)
        assert "1 bytes" in (await do("cat a"))["message"]
    assert shown(await do("cat a b")) == "onetwo"


@pytest.mark.parametrize("fails", ["by an exception", "by its result"])
async def test_a_slot_whose_sandbox_failed_is_opened_anew(
    worker: Worker, do: Do, monkeypatch: pytest.MonkeyPatch, fails: str
):
    async def fail(self: LocalEngine, *_: object, **more: object) -> Completed:
        engines.append(self._runner)
        if fails == "by an exception":
            raise SandboxUnavailableError("its folder is gone")
        return Completed(Result(Status.SANDBOX_ERROR))

    engines: list[object] = []
    with monkeypatch.context() as patched:
        patched.setattr(LocalEngine, "run", fail)
        with contextlib.suppress(SandboxUnavailableError):
            assert (await do("echo on"))["status"] == "sandbox_error"
    assert shown(await do("echo on")) == "on\n"
    (slot,) = worker._idle
    assert slot.engine._runner not in engines


async def test_cancelling_ends_the_run_and_frees_its_slot(
    worker: Worker, front: TestFront, tmp_path: Path, do: Do
):
    out = tmp_path / "cancelled"
    out.mkdir()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.do, front.seal("sleep 600"), front.fetch, out)
        await _until_it_runs("600")
        nursery.cancel_scope.cancel()
    assert list(out.iterdir()) == []
    assert shown(await do("echo on")) == "on\n"


async def _until_it_runs(seconds: str) -> None:
    """Wait for a program that sleeps so long, which no other test does."""

    def look() -> None:
        while not _sleeps(seconds):
            time.sleep(0.01)

    await trio.to_thread.run_sync(look, abandon_on_cancel=True)


def _sleeps(seconds: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == f"sleep\0{seconds}\0".encode():
                return True
    return False


async def test_nothing_goes_on_after_the_last_moment(do: Do):
    late = await do("sleep 602", not_after=time.time() + 0.8)
    assert late["status"] == "cancelled"
    assert shown(await do("echo on")) == "on\n"


async def test_an_order_does_not_wait_for_another(
    terms: WorkerTerms, front: TestFront, project: Path, tmp_path: Path
):
    (project / "a").write_text("one")
    outs = [tmp_path / name for name in ("slow", "quick")]
    for out in outs:
        out.mkdir()
    async with open_worker(replace(terms, at_once=2)) as worker, trio.open_nursery() as nursery:
        nursery.start_soon(worker.do, front.seal("sleep 601"), front.fetch, outs[0])
        await _until_it_runs("601")
        await worker.do(front.seal("cat a"), front.fetch, outs[1])
        assert _sleeps("601")
        nursery.cancel_scope.cancel()
    assert shown(result_in(outs[1])) == "one"
    assert list(terms.folder.glob("slots/[0-9]")) == []


async def test_a_second_worker_takes_other_slots_of_the_same_folder(
    worker: Worker, terms: WorkerTerms
):
    async with open_worker(terms):
        assert sorted(path.name for path in terms.folder.glob("slots/[0-9]")) == ["0", "1"]


async def test_a_worker_without_a_tier_takes_no_orders(
    terms: WorkerTerms, monkeypatch: pytest.MonkeyPatch
):
    def find_none(*_: object) -> None:
        raise SandboxUnavailableError("no tier works here", "install one")

    monkeypatch.setattr("executor.local_engine.open_back_end", find_none)
    with pytest.raises(SandboxUnavailableError, match="no tier"):
        async with open_worker(terms):
            pass
    assert list(terms.folder.glob("slots/[0-9]")) == []


async def test_a_worker_offers_what_orders_need(worker: Worker, monkeypatch: pytest.MonkeyPatch):
    async def languages(_: LocalEngine) -> Mapping[str, LanguageReport]:
        return {name: LanguageReport(name, name != "lua") for name in ("shell", "lua")}

    monkeypatch.setattr(LocalEngine, "languages", languages)  # else all are proven, by runs
    assert set(await worker.list_offers()) == {
        f"context-mode={PROTOCOL}",
        f"tier={worker.tier}",
        "language=shell",
    }
