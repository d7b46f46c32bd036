"""Packages of Elixir: had by Hex once, found offline, and refused where they are bad."""

from __future__ import annotations

import pytest

from executor import Caller, PackagesError, Request
from runtimes.packages.tools import HEX, find_tool
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.hex_registry import Hexes
from tests.executor.packages.test_others import opened

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

USE = "IO.puts(Alpha.value())\n"
ALPHA = "defmodule Alpha do\n  def value, do: Beta.value() + 1\nend\n"
BETA = "defmodule Beta do\n  def value, do: 41\nend\n"


@pytest.fixture(autouse=True)
def _hex():
    if find_tool(HEX) is None:
        pytest.skip("not applicable: Hex is not installed: mix local.hex")


async def test_packages_are_fetched_once_and_found_offline_afterwards(open_with, served):
    registry = Hexes(served)
    registry.add("alpha", ALPHA, requires="beta")
    registry.add("beta", BETA)
    async with opened(open_with, served, "elixir") as engine:
        first = await run_in(engine, "elixir", USE, "alpha")
        assert (first.stdout.text, first.packages) == ("42\n", "now"), first.stderr.text
        served.files.clear()
        second = await run_in(engine, "elixir", f"{USE}\n", "alpha")
        assert (second.stdout.text, second.packages) == ("42\n", "kept")


async def test_what_is_not_there_is_said_and_leaves_nothing(open_with, served, kept):
    async with opened(open_with, served, "elixir") as engine:
        with pytest.raises(PackagesError, match="no such"):
            await run_in(engine, "elixir", USE, "alpha")
    assert left(kept) == []


async def test_a_file_that_is_not_what_the_lock_says_is_refused(open_with, served, kept, project):
    registry = Hexes(served)
    registry.add("beta", BETA)
    async with opened(open_with, served, "elixir") as engine:
        wanted = Request("elixir", "", packages=("beta",))
        answer = await engine.have_packages(wanted, Caller(), fetch=False)
        (project / "mix.lock").write_bytes(answer.files["mix.lock"])
        registry.add("beta", BETA.replace("41", "666"))
        for name in ("beta", "mix.lock"):
            again = Request("elixir", "", packages=(name,))
            with pytest.raises(PackagesError, match="not what the lock's digest says"):
                await engine.have_packages(again, Caller(), fetch=True)
    assert left(kept) == []


@pytest.mark.parametrize(
    ("lock", "words"),
    [
        ('%{"a": {:git, "https://example.com/a.git", "0", []}}', "comes from no registry"),
        ('%{"a": {:hex, :a, "1.0.0", "0", [:mix], [], "hexpm"}}', "holds no digest"),
        ('%{"a": {:path, "a"}}', "comes from no registry"),
        ("IO.puts(1)", "not a lock of Mix"),
        ('%{"a": {:hex, :a, "1.0.0", "0", [:mix], [], "own", "0"}}', "holds no digest"),
    ],
)
async def test_a_lock_of_what_no_digest_holds_is_refused(  # noqa: PLR0917 - fixtures
    open_with, served, kept, project, lock, words
):
    (project / "mix.lock").write_text(lock)
    async with opened(open_with, served, "elixir") as engine:
        with pytest.raises(PackagesError, match=words):
            await run_in(engine, "elixir", USE, "mix.lock")
    assert left(kept) == []


async def test_a_name_that_leads_out_of_its_folder_is_refused(open_with, served, kept):
    Hexes(served).add("alpha", BETA, at="../../../evil")
    async with opened(open_with, served, "elixir") as engine:
        with pytest.raises(PackagesError, match="archive"):
            await run_in(engine, "elixir", USE, "alpha")
    assert left(kept) == []


async def test_what_a_package_evaluates_as_it_is_built_has_no_network(open_with, served):
    first = (
        f"found = :gen_tcp.connect({{127, 0, 0, 1}}, {served.port}, [])\n"
        'with {:ok, socket} <- found, do: :gen_tcp.send(socket, "GET /evil HTTP/1.0\\r\\n\\r\\n")\n'
        'text = if match?({:ok, _}, found), do: "a network", else: "no network"\n'
        'File.write!(Path.join(__DIR__, "lib/found.ex"), '
        '"defmodule Found, do: def(text, do: #{inspect(text)})")\n'
    )
    Hexes(served).add("alpha", BETA, first=first)
    async with opened(open_with, served, "elixir") as engine:
        result = await run_in(engine, "elixir", "IO.puts(Found.text())", "alpha")
    assert result.stdout.text == "no network\n", result.stderr.text
    assert (served.count("tarballs"), served.count("evil")) == (2, 0)
