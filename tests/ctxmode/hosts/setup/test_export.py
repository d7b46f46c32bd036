"""Plug-ins and extensions: what each host's form holds, and where they may be written.

Each form was found valid by its host's own program: `claude plugin validate --strict`
(2.1.330), `gemini extensions validate` (0.61.0), `qwen extensions link`
(0.24.4).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxmode import __version__, cli, exit_codes
from ctxmode.hosts.instructions import read_skill
from ctxmode.hosts.setup.hosts import BY_NAME
from ctxmode.hosts.setup.plan import FORMS

FILES = {
    "claude-code": {".claude-plugin/plugin.json", ".mcp.json"},
    "gemini-cli": {"gemini-extension.json"},
    "qwen-code": {"qwen-extension.json"},
}
SHARED = {"hooks/hooks.json", "skills/context-mode/SKILL.md", "README.md"}
EVERY = pytest.mark.parametrize("host", FORMS)


def export(host: str, folder: Path, *options: str) -> int:
    return cli.main(["setup", host, "--export", str(folder), *options])


def files_in(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


@EVERY
def test_an_export_has_a_manifest_the_server_hooks_and_the_skill(host, tmp_path):
    assert export(host, tmp_path / "context-mode") == 0
    files = files_in(tmp_path / "context-mode")
    assert set(files) == FILES[host] | SHARED
    manifest = json.loads(files[BY_NAME[host].export["manifest"]])
    assert (manifest["name"], manifest["version"]) == ("context-mode", __version__)
    servers = json.loads(files[BY_NAME[host].export["servers"]])["mcpServers"]
    assert servers["context-mode"]["command"] == "context-mode"
    assert servers["context-mode"]["args"] == ["serve"]
    hooks = json.loads(files["hooks/hooks.json"])["hooks"]
    assert set(hooks) == set(BY_NAME[host].events())
    for event, (entry,) in hooks.items():
        assert entry["hooks"][0]["command"] == f"context-mode hook {host} {event}"
    assert files["skills/context-mode/SKILL.md"] == read_skill()
    assert len(files["README.md"].split()) >= 40


@EVERY
def test_an_export_is_written_over_an_earlier_one(host, tmp_path, capsys):
    folder = tmp_path / "context-mode"
    assert export(host, folder) == 0
    assert export(host, folder) == 0
    assert "nothing to change" in capsys.readouterr().out
    (folder / "hooks" / "hooks.json").write_text("{}")
    assert export(host, folder, "--command", "/opt/context-mode") == 0
    assert "/opt/context-mode hook" in (folder / "hooks" / "hooks.json").read_text()


@EVERY
@pytest.mark.parametrize("name", ["mine.txt", "hooks/hooks.json", "skills/other/SKILL.md"])
def test_a_folder_that_holds_something_else_is_left_alone(host, name, tmp_path, capsys):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("theirs")
    assert export(host, tmp_path) == exit_codes.USAGE
    assert name in capsys.readouterr().err
    assert files_in(tmp_path) == {name: "theirs"}


def test_an_export_with_a_file_of_somebody_elses_is_left_alone(tmp_path, capsys):
    assert export("gemini-cli", tmp_path) == 0
    (tmp_path / "notes.md").write_text("theirs")
    assert export("gemini-cli", tmp_path, "--command", "other") == exit_codes.USAGE
    assert "notes.md" in capsys.readouterr().err


def test_no_link_is_followed_out_of_the_folder(tmp_path, capsys):
    folder = tmp_path / "context-mode"
    assert export("gemini-cli", folder) == 0
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(outside)
    assert export("gemini-cli", folder) != 0
    assert "points outside" in capsys.readouterr().err
    assert outside.read_text() == "theirs"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("zed", "--export", "x"), "Choose from: claude-code, gemini-cli, qwen-code."),
        (("qwen-code", "--export", "x", "--remove"), "Remove one of them."),
        (("qwen-code", "--export", "x", "--project"), "Remove one of them."),
        (("qwen-code", "--export", "file"), "is a file"),
    ],
)
def test_what_is_malformed_is_told(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert cli.main(["setup", *arguments]) == exit_codes.USAGE
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_nothing_is_written_by_a_dry_run(tmp_path, capsys):
    assert export("claude-code", tmp_path / "x", "--dry-run") == 0
    assert "+++" in capsys.readouterr().out
    assert not (tmp_path / "x").exists()
