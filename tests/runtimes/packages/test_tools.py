"""The programs that phases need: where they are looked for."""

from __future__ import annotations

from runtimes.packages import tools
from runtimes.packages.tools import HEX, NPM, find_tool


def test_an_archive_of_mix_is_the_last_of_its_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("MIX_ARCHIVES", "MIX_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert find_tool(HEX) is None
    for version in ("2.0.5", "2.0.6"):
        (tmp_path / f".mix/archives/hex-{version}").mkdir(parents=True)
    last = str(tmp_path / ".mix/archives/hex-2.0.6")
    assert find_tool(HEX) == (last, last)
    elsewhere = tmp_path / "elsewhere/archives/hex-1.0.0"
    elsewhere.mkdir(parents=True)
    monkeypatch.setenv("MIX_HOME", str(tmp_path / "elsewhere"))
    assert find_tool(HEX) == (str(elsewhere), str(elsewhere))


def test_of_a_distributions_npm_all_is_shown_in_which_it_finds_its_parts(monkeypatch, tmp_path):
    npm = tmp_path / "nodejs/npm"
    (npm / "bin").mkdir(parents=True)
    (npm / "package.json").touch()
    program = npm / "bin/npm"
    program.touch(mode=0o755)
    monkeypatch.setattr(tools.shutil, "which", lambda *_, **__: str(program))
    assert find_tool(NPM) == (str(program), str(npm))  # one that has all of it is the control
    monkeypatch.setattr(tools, "SHARED", str(npm.parent))
    assert find_tool(NPM) == (str(program), str(npm.parent))
