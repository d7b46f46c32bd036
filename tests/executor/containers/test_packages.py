"""Packages in containers: locked, fetched and built in them, by the toolchain of their image."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

import runtimes
from executor import (
    Caller,
    LocalEngine,
    PackagesError,
    Request,
    Settings,
    Status,
    open_engine,
)
from executor.instance.lock import remove
from executor.packages import phases
from executor.packages.model import PackageSettings, Registry, reach_of
from runtimes.packages.registry import BY_NAME
from tests.executor.containers.conftest import why_not
from tests.executor.packages import npm_registry
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.python_index import Index
from tests.executor.packages.served import Served, serve

pytestmark = pytest.mark.xdist_group("containers")

USE = "import alpha; print(alpha.VALUE)"
NAMES = ("python", "javascript")


@pytest.fixture
def served() -> Iterator[Served]:
    with serve() as server:
        yield server


@pytest.fixture
def index(served: Served) -> Index:
    return Index(served)


@pytest.fixture
def kept(state_dir: Path) -> Path:
    """Where layers are kept: nothing is yet."""
    remove(state_dir / "packages")
    return state_dir / "packages"


@pytest.fixture
def settings(served: Served, engine: docker.APIClient) -> Settings:
    """Containers, whose packages come from the test's own registries without asking."""
    own = {
        "python": Registry(f"{served.url}/simple", private=True),
        "javascript": Registry(served.url, private=True),
    }
    packages = PackageSettings(allow=frozenset(NAMES), registries=own)
    return Settings(isolation="container", packages=packages)


@pytest.fixture(params=["runc", "runsc"])
async def executor(
    request: pytest.FixtureRequest, settings: Settings, project: Path, kept: Path
) -> AsyncIterator[LocalEngine]:
    client = request.getfixturevalue("engine")
    if request.param not in (client.info().get("Runtimes") or {}):
        pytest.skip(
            f"not applicable: the engine has no runtime {request.param}; .ci/engine adds it"
        )
    given = replace(settings, runtime=request.param)
    (project / "own.txt").write_text("of the project\n")
    async with open_engine(
        project=project, state_dir=kept.parent, rules=None, home=Path.home(), settings=given
    ) as opened:
        yield opened


async def test_they_are_fetched_once_and_shown_read_only(executor, index, kept):
    index.add("alpha", files={"alpha.py": b"VALUE = 42\n"})
    code = f"{USE}\ntry: open(alpha.__file__, 'a')\nexcept OSError as error: print(error.strerror)"
    first = await run_in(executor, "python", code, "alpha")
    assert (first.status, first.packages) == (Status.OK, "now"), first.stderr.text
    assert (first.isolation.tier, first.stdout.text) == ("C", "42\nRead-only file system\n")
    index.served.files.clear()
    second = await run_in(executor, "python", USE, "alpha")
    assert (second.stdout.text, second.packages) == ("42\n", "kept")
    assert len(left(kept)) == 1


async def test_a_session_that_commits_has_them(executor, index, project):
    index.add("alpha")
    code = f"{USE}\nopen('written', 'w').write(str(alpha.VALUE))"
    first = await run_in(executor, "python", code, "alpha", session="s", profile="build")
    assert (first.status, first.packages) == (Status.OK, "now"), first.message
    later = await run_in(executor, "python", "print(alpha.VALUE)", session="s", profile="build")
    assert (later.stdout.text, later.session) == ("1\n", "continued")
    assert (project / "written").read_text() == "1"


async def test_a_wrong_digest_is_refused_and_leaves_nothing(executor, index, kept):
    index.add("alpha", digest="0" * 64)
    wanted = Request("python", packages=("alpha",))
    with pytest.raises(PackagesError, match="not what the lock's digest says"):
        await executor.have_packages(wanted, Caller(), fetch=True)
    assert left(kept) == []


async def test_a_phase_reaches_its_registry_and_nothing_of_the_project(executor, index):
    """The controls: an ordinary run sees the file, and the phase does reach its registry."""
    seen = await run_in(executor, "python", "import os; print(os.listdir())")
    assert "own.txt" in seen.stdout.text
    row = BY_NAME["python"]
    reach = reach_of(row, Registry(index.url, private=True))
    chosen = await executor._toolchains.choose(runtimes.language("python"))
    index.served.files["/simple/"] = ("text/html", b"there")
    with serve() as other:
        other.files["/"] = ("text/html", b"there")
        program = (
            '"$PYTHON" -c "import os, sys, urllib.request as u\nprint(os.listdir())\n'
            "for url in sys.argv[1:]:\n"
            " try: print(u.urlopen(url, timeout=5).read())\n"
            " except OSError: print('refused')\" "
            f'"$REGISTRY/" {other.url}/ http://192.0.2.1/ > "$OUT/said"\n'
        )
        phase = phases.Phase("fetch", row, program, reach=reach[2], env={"REGISTRY": reach[0]})
        async with executor._packages().phases.run(phase, chosen) as bundle:
            files = phases.read_files(bundle, 4096)
    assert files == {"said": b"[]\nb'there'\nrefused\nrefused\n"}
    assert other.asked == []


async def test_npm_of_this_machine_and_node_of_the_image_fetch_packages(
    settings, served, project, kept
):
    if reason := why_not("javascript"):
        pytest.skip(reason)
    npm_registry.Registry(served).add("alpha", files={"index.js": "module.exports = 42;\n"})
    async with open_engine(
        project=project, state_dir=kept.parent, rules=None, home=Path.home(), settings=settings
    ) as executor:
        use = 'import value from "alpha"; console.log(value);'
        result = await run_in(executor, "javascript", use, "alpha")
    assert (result.stdout.text, result.packages) == ("42\n", "now"), result.message


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        (":", ""),
        ('ln -s /etc "$OUT/stolen"', "a link leads out"),
        ('mkfifo "$OUT/pipe"', "neither a file, a folder nor a link"),
        ('mv "$OUT" "$OUT.x"; ln -s /etc "$OUT"', "its path has a link"),
    ],
)
async def test_what_a_phase_leaves_is_taken_as_a_plain_folder_or_refused(
    executor, tmp_path, attack, words
):
    """The control has a link that stays inside."""
    chosen = await executor._toolchains.choose(runtimes.language("python"))
    folder = tmp_path / "layer"
    folder.mkdir()
    honest = 'mkdir "$OUT/d"; echo honest > "$OUT/d/file"; ln -s d/file "$OUT/inside"'
    phase = phases.Phase("build", BY_NAME["python"], f"{honest}\n{attack}\n")

    async def take():
        async with executor._packages().phases.run(phase, chosen) as bundle:
            phases.unpack_bundle(bundle, folder, 1 << 20)

    if words:
        with pytest.raises(PackagesError, match=words):
            await take()
    else:
        await take()
        assert (folder / "inside").is_symlink()
        assert (folder / "inside").read_text() == "honest\n"
