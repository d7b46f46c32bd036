"""Sessions with packages: had with the first call, held and shown until the session ends."""

from __future__ import annotations

import pytest
import trio

from executor import Caller, PackagesError, RequestError, Status
from executor.packages.model import Registry
from executor.packages.store import LayerStore
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.test_layers import make_old, overwrite

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

USE = "import alpha; print(alpha.VALUE)"
ALLOW = frozenset({"python"})


@pytest.fixture
def call(engine, index):
    """A call of one session, by an executor that fetches without asking."""
    index.add("alpha")

    async def call_one(code=USE, *packages, language="python", **more):
        return await run_in(engine, language, code, *packages, **({"session": "s"} | more))

    return call_one


async def test_the_packages_of_the_first_call_are_there_for_all(call):
    first = await call("import alpha; a = alpha.VALUE", "alpha")
    assert (first.status, first.session, first.packages) == (Status.OK, "started", "now")
    later = await call("print(a, alpha.VALUE)")
    assert (later.stdout.text, later.session, later.packages) == ("1 1\n", "continued", "kept")
    assert (await call(USE, "alpha")).session == "continued"


async def test_an_interpreter_that_is_replaced_finds_them_and_so_does_a_shell(call):
    await call(USE, "alpha")
    assert (await call("import os; os._exit(3)")).exit_code == 3
    assert (await call(USE)).stdout.text == "1\n"
    by_shell = await call(f"python3 -c '{USE}'", language="shell")
    assert by_shell.stdout.text == "1\n", by_shell.stderr.text


async def test_other_packages_need_another_session(call, index):
    index.add("beta", files={"beta.py": b"VALUE = 2\n"})
    await call("print(1)")
    with pytest.raises(RequestError, match="these are none") as refused:
        await call(USE, "alpha")
    assert "fresh" in refused.value.hint
    assert (await call(USE, "alpha", fresh=True)).stdout.text == "1\n"
    with pytest.raises(RequestError, match="these are alpha"):
        await call("import beta", "beta")
    assert (await call("import beta; print(beta.VALUE)", "beta", session="t")).ok
    assert (await call(USE)).stdout.text == "1\n"


async def test_their_layer_is_held_until_the_session_ends(call, kept):
    await call(USE, "alpha")
    store = LayerStore(kept)
    (layer,) = store.layers()
    assert not store.remove(layer.key)
    ended = await call("while True: pass", timeout_s=1)
    assert ended.session.endswith("name its packages again")
    assert store.remove(layer.key)


@pytest.mark.parametrize("profile", ["analyze", "build"])
async def test_a_layer_that_was_changed_ends_the_session_before_anything_runs(
    call, kept, project, profile
):
    write = "open('written', 'w').close()"
    await call("import alpha", "alpha", profile=profile)
    (module,) = kept.glob("layers/*/tree/alpha.py")
    overwrite(module)
    make_old(kept)
    with pytest.raises(PackagesError, match="changed on disk") as broken:
        await call(write, profile=profile)
    assert "start the session again" in broken.value.hint
    assert (left(kept), (project / "written").exists()) == ([], False)
    again = await call(USE, "alpha", profile=profile)
    assert (again.stdout.text, again.session, again.packages) == ("1\n", "started", "now")


@pytest.mark.parametrize("answer", [None, False, True])
async def test_a_person_is_asked_once_and_without_consent_no_session_is_left(
    open_with, index, answer
):
    index.add("alpha")
    asked = []

    async def consent(verdict):
        asked.append(verdict["question"])
        return answer

    registries = {"python": Registry(index.url, private=True)}
    caller = Caller(consent=consent)
    async with open_with(registries=registries) as engine:
        if answer:
            for _ in range(2):
                result = await run_in(engine, "python", USE, "alpha", session="s", caller=caller)
                assert result.stdout.text == "1\n"
        else:
            with pytest.raises(PackagesError, match="need your approval"):
                await run_in(engine, "python", USE, "alpha", session="s", caller=caller)
            assert engine.sessions == ()
            assert (await run_in(engine, "python", "print(1)", session="s")).ok
    assert len(asked) == 1


async def test_a_fetch_that_is_cancelled_leaves_no_session_and_no_layer(engine, call, index, kept):
    index.served.held = ("/files/",)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, USE, "alpha")
        await trio.to_thread.run_sync(index.served.reached.wait)
        nursery.cancel_scope.cancel()
    assert (engine.sessions, left(kept)) == ((), [])
    index.served.hold.set()
    assert (await call(USE, "alpha")).session == "started"


async def test_calls_at_once_begin_one_session(call):
    results = []

    async def use():
        results.append(await call(USE, "alpha"))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(use)
    assert [result.stdout.text for result in results] == ["1\n"] * 3
    assert sorted(result.session for result in results) == ["continued", "continued", "started"]
