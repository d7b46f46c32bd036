"""Layers: who agrees to them, who shares them, what becomes of those that are changed or old."""

from __future__ import annotations

import errno
import os

import pytest
import trio

import runtimes
from executor import Caller, PackagesError, RequestError, Status
from executor.packages import phases
from executor.packages.model import Registry, reach_of
from executor.packages.store import LayerStore
from runtimes.packages.registry import BY_NAME
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.served import serve

pytestmark = pytest.mark.tier_a

USE = "import alpha; print(alpha.VALUE)"
ALLOW = frozenset({"python"})


@pytest.fixture
def registries(index):
    return {"python": Registry(index.url, private=True)}


@pytest.mark.parametrize(
    ("answer", "words"), [(None, "no user could be asked"), (False, "it was declined"), (True, "")]
)
async def test_without_an_allowance_a_person_is_asked(open_with, index, registries, answer, words):
    index.add("alpha")
    asked = []

    async def consent(verdict):
        asked.append(verdict["question"])
        return answer

    async with open_with(registries=registries) as engine:
        if not answer:
            with pytest.raises(PackagesError, match=words):
                await run_in(engine, "python", USE, "alpha", caller=Caller(consent=consent))
            assert index.served.asked == []
        else:
            result = await run_in(engine, "python", USE, "alpha", caller=Caller(consent=consent))
            assert result.stdout.text == "1\n"
    port = index.served.port
    assert set(asked) == {f"Fetch packages of Python (alpha) from localhost:{port}?"}


async def test_two_that_want_the_same_at_once_fetch_it_once(engine, index, kept):
    index.add("alpha")
    results = []

    async def use():
        results.append(await run_in(engine, "python", USE, "alpha"))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(use)
    assert [result.stdout.text for result in results] == ["1\n"] * 3
    assert sorted(result.packages for result in results) == ["kept", "kept", "now"]
    index.add("beta")
    await run_in(engine, "python", "import beta", "beta")
    assert index.served.count("/files/alpha") == index.served.count("/files/beta")
    assert len(left(kept)) == 2


async def test_a_fetch_that_is_cancelled_leaves_nothing(engine, index, kept):
    index.add("alpha")
    index.served.held = ("/files/",)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_in, engine, "python", USE, "alpha")
        await trio.to_thread.run_sync(index.served.reached.wait)
        nursery.cancel_scope.cancel()
    assert left(kept) == []
    index.served.hold.set()
    assert (await run_in(engine, "python", USE, "alpha")).stdout.text == "1\n"


async def test_a_disk_that_is_full_in_mid_fetch_leaves_nothing(engine, index, kept, monkeypatch):
    index.add("alpha")

    def unpack(bundle, folder, bytes_max):
        (folder / "half").write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(phases, "unpack", unpack)
    with pytest.raises(PackagesError, match="No space left on device"):
        await run_in(engine, "python", USE, "alpha")
    assert left(kept) == []


def overwrite(path):
    path.write_bytes(b"VALUE = 'changed'\n")


def make_old(kept):
    """Let the layers' last verification be a while ago."""
    for mark in kept.glob("layers/*/verified"):
        os.utime(mark, (0, 0))


def replace(path):
    path.with_name("new").write_bytes(b"VALUE = 'changed'\n")
    path.with_name("new").rename(path)


@pytest.mark.parametrize("change", [overwrite, replace, os.unlink])
async def test_a_layer_that_was_changed_gives_no_result_and_is_fetched_anew(
    engine, index, kept, change
):
    index.add("alpha")
    await run_in(engine, "python", USE, "alpha")
    (module,) = kept.glob("layers/*/tree/alpha.py")
    change(module)
    if change is overwrite:
        make_old(kept)  # until then the folders alone are looked at
    broken = await run_in(engine, "python", "print(1)", "alpha")
    assert (broken.status, "changed on disk" in broken.message) == (Status.SANDBOX_ERROR, True)
    again = await run_in(engine, "python", USE, "alpha")
    assert (again.stdout.text, again.packages) == ("1\n", "now")


async def test_nothing_of_a_changed_layer_reaches_the_project(engine, index, kept, project):
    index.add("alpha")
    write = "open('written', 'w')"
    await run_in(engine, "python", write, "alpha", profile="build")
    assert (project / "written").exists()
    (project / "written").unlink()
    (module,) = kept.glob("layers/*/tree/alpha.py")
    overwrite(module)
    with pytest.raises(PackagesError, match="changed on disk"):
        await run_in(engine, "python", write, "alpha", profile="build")
    assert not (project / "written").exists()


async def test_a_copy_with_the_same_contents_is_sound(engine, index, kept):
    index.add("alpha")
    await run_in(engine, "python", USE, "alpha")
    (module,) = kept.glob("layers/*/tree/alpha.py")
    content = module.read_bytes()
    module.write_bytes(content)
    make_old(kept)
    assert (await run_in(engine, "python", USE, "alpha")).packages == "kept"


@pytest.mark.parametrize("place", ["tree", "."])
async def test_a_stored_layer_that_is_a_link_is_not_shown_and_fetched_again(
    engine, index, kept, tmp_path, place
):
    index.add("alpha")
    assert (await run_in(engine, "python", USE, "alpha")).stdout.text == "1\n"
    (layer,) = kept.glob("layers/*")
    layer.rename(tmp_path / "moved")
    (tmp_path / "moved/tree/alpha.py").write_text("VALUE = 'private'\n")
    if place == "tree":
        layer.mkdir()
        for name in ("seal.json", "verified"):
            (tmp_path / "moved" / name).rename(layer / name)
        (layer / "tree").symlink_to(tmp_path / "moved/tree")
    else:
        layer.symlink_to(tmp_path / "moved")
    result = await run_in(engine, "python", USE, "alpha")
    assert (result.stdout.text, result.packages) == ("1\n", "now")
    assert (tmp_path / "moved/tree/alpha.py").exists()


def test_a_link_in_the_place_of_a_mark_makes_the_server_touch_nothing(tmp_path):
    """The control: with a mark of its own the layer is put in its place, and is sound."""
    store = LayerStore(tmp_path / "store", 1 << 20)
    store.prepare()
    about = {"ecosystem": "python", "packages": "alpha"}
    target = tmp_path / "target"
    made = store.begin("0" * 32)
    (made / "verified").symlink_to(target)
    with pytest.raises(FileExistsError):
        store.put("0" * 32, made, about)
    assert not target.exists()
    (made / "verified").unlink()
    store.put("0" * 32, made, about)
    assert store.has("0" * 32)
    assert store.is_sound("0" * 32, in_full=True)
    target.touch()
    os.utime(target, (1, 1))
    for name in ("verified", "seal.json"):
        mark = tmp_path / "store/layers" / ("0" * 32) / name
        text = mark.read_text()
        mark.unlink()
        target.write_text(text)
        os.utime(target, (1, 1))
        mark.symlink_to(target)
        store.has("0" * 32)
        store.is_sound("0" * 32, in_full=True)
        assert target.stat().st_mtime == 1


async def test_what_is_shown_is_reached_through_no_link(engine, kept):
    """The control is the same folder by its own name."""
    chosen = await engine._toolchains.choose(runtimes.language("python"))
    packages = engine._packages()
    folder = kept / "layers" / "folder"
    folder.mkdir(parents=True)
    (folder / "file").write_text("there\n")
    (kept / "layers" / "link").symlink_to(folder)

    async def read(name):
        shown = ((str(kept / "layers" / name), "/packages/shown"),)
        program = 'cat /packages/shown/file > "$OUT/said"'
        phase = phases.Phase("build", BY_NAME["python"], program, shown=shown)
        async with packages.phases.run(phase, chosen) as bundle:
            return phases.read_files(bundle, 4096)

    assert await read("folder") == {"said": b"there\n"}
    with pytest.raises(PackagesError, match="Too many levels of symbolic links"):
        await read("link")


async def test_the_least_recently_used_goes(open_with, index, registries, kept):
    for name in ("alpha", "beta", "gamma"):
        index.add(name, files={f"{name}.py": b"#" * 100_000})
    async with open_with(allow=ALLOW, registries=registries, bytes_max=260_000) as engine:
        for name in ("alpha", "beta", "alpha", "gamma"):
            await run_in(engine, "python", f"import {name}", name)
    assert {path.stem for path in kept.glob("layers/*/tree/*.py")} == {"alpha", "gamma"}


async def test_what_a_killed_server_left_half_made_goes_with_the_next_fetch(engine, index, kept):
    half = kept / "layers" / f".partial-{'0' * 32}-x" / "tree"
    half.mkdir(parents=True)
    index.add("alpha")
    await run_in(engine, "python", USE, "alpha")
    assert not half.exists()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("alpha @ https://10.0.0.1/alpha-1.0-py3-none-any.whl", "direct address"),
        ("https://10.0.0.1/alpha-1.0-py3-none-any.whl", "direct address"),
        ("git+ssh://git@10.0.0.1/alpha", "direct address"),
        ("--index-url=https://10.0.0.1/", "direct address"),
        ("--no-deps", "is not a package name"),
        ("alpha; import os", "is not a package name"),
        ("alpha\n--pre", "is not a package name"),
        ("", "is not a package name"),
        ("../requirements.txt", "outside the project"),
        ("missing/requirements.txt", "cannot read"),
    ],
)
async def test_what_is_no_package_is_refused_before_anything_is_fetched(engine, index, spec, words):
    with pytest.raises(RequestError, match=words):
        await run_in(engine, "python", USE, spec)
    assert index.served.asked == []


async def test_a_language_without_packages_is_refused(engine):
    with pytest.raises(RequestError, match="packages of shell"):
        await run_in(engine, "shell", "true", "alpha")


async def test_runs_with_one_layer_are_prewarmed(engine, index):
    index.add("alpha")
    for _ in range(3):
        await run_in(engine, "python", USE, "alpha")
    with trio.fail_after(20):
        while not any(state.hits for state in engine.pools):
            assert (await run_in(engine, "python", USE, "alpha")).stdout.text == "1\n"
            await trio.sleep(0.05)


async def test_a_phase_reaches_its_registry_and_no_other_address(engine, index):
    """The control is the registry itself, by the same program in the same cell."""
    row = BY_NAME["python"]
    url, _, network = reach_of(row, Registry(index.url, private=True))
    chosen = await engine._toolchains.choose(runtimes.language("python"))
    packages = engine._packages()
    with serve() as other:
        other.files["/simple/"] = index.served.files["/simple/"] = ("text/html", b"there")
        program = (
            '"$PYTHON" -c "import sys, urllib.request as u\n'
            "for url in sys.argv[1:]:\n"
            " try: print(url, u.urlopen(url, timeout=5).read())\n"
            " except OSError as error: print(url, 'refused')\" "
            f'"$REGISTRY/" {other.url}/simple/ http://192.0.2.1/ > "$OUT/said"\n'
        )
        phase = phases.Phase("fetch", row, program, reach=network, env={"REGISTRY": url})
        async with packages.phases.run(phase, chosen) as bundle:
            said = phases.read_files(bundle, 4096)["said"].decode()
    assert said.splitlines() == [
        f"{index.url}/ b'there'",
        f"{other.url}/simple/ refused",
        "http://192.0.2.1/ refused",
    ]
    assert other.asked == []
