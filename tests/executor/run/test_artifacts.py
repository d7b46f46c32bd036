"""Files that a run hands back: what matches comes, exact; nothing else ever does."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from executor import Limits, Request, Status, open_engine
from executor.run.capture import safe_name


def by_name(result) -> dict[str, object]:
    return {a.name: Path(a.path).read_bytes() if a.path else a.reason for a in result.artifacts}


@pytest.mark.tier_a
@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["*.txt"], ["a.txt", "b.txt"]),
        (["out/*"], ["out/c.txt"]),
        (["**/*.txt"], ["a.txt", "b.txt", "out/c.txt", "out/deep/d.txt"]),
        (["out/**/d.txt"], ["out/deep/d.txt"]),
        (["a.txt", "*.txt"], ["a.txt", "b.txt"]),
        (["nothing"], []),
    ],
)
async def test_patterns_choose_files_of_the_working_folder(patterns, names, run):
    make = "mkdir -p out/deep; for f in a.txt b.txt out/c.txt out/deep/d.txt; do echo $f > $f; done"
    result = await run("shell", make, artifacts=tuple(patterns))
    assert by_name(result) == {name: f"{name}\n".encode() for name in names}


async def test_what_is_not_in_the_working_folder_is_looked_for_in_scratch(run):
    code = "mkdir $TMPDIR/d; echo one > $TMPDIR/d/a.txt; echo two > $TMPDIR/b.txt"
    result = await run("shell", code, artifacts=("d/*.txt", "b.txt", "c.txt"))
    assert [a.name for a in result.artifacts] == ["d/a.txt", "b.txt"]


async def test_files_of_the_scratch_folder_are_named_absolutely(run):
    result = await run("shell", 'echo plot > "$TMPDIR/plot.png"; echo "$TMPDIR"')
    scratch = result.stdout.text.strip()
    if scratch != "/tmp":
        pytest.skip("not applicable: tier B's scratch folder has another name every time")
    result = await run("shell", "echo plot > /tmp/plot.png", artifacts=("/tmp/*.png",))
    assert by_name(result) == {"/tmp/plot.png": b"plot\n"}


@pytest.mark.tier_a
async def test_a_failed_run_hands_its_files_back_too(run):
    result = await run("shell", "echo half > report; exit 3", artifacts=("report",))
    assert (result.status, by_name(result)) == (Status.NONZERO_EXIT, {"report": b"half\n"})


@pytest.mark.tier_a
@pytest.mark.parametrize(
    "attack",
    [
        "ln -s /etc/os-release out.png",
        "ln -s /proc/self/environ out.png",
        "mkfifo out.png",
        "ln -s /etc d && ln -s d/os-release out.png",
        "mkdir out.png",
    ],
)
async def test_what_is_no_regular_file_is_never_handed_back(attack, run):
    result = await run("shell", f"{attack}; echo fine > other.png", artifacts=("*.png",))
    handed = {name: content for name, content in by_name(result).items() if name == "other.png"}
    assert handed == {"other.png": b"fine\n"}
    assert not [a for a in result.artifacts if a.name == "out.png" and a.path]


@pytest.mark.tier_a
async def test_a_linked_folder_is_not_entered(run):
    result = await run("shell", "ln -s /etc linked", artifacts=("linked/*", "**/os-release"))
    assert not [a for a in result.artifacts if a.path]


@pytest.mark.parametrize("leads_to", ["{outside}", "/etc", "/proc/self/fd"])
async def test_a_working_folder_that_became_a_link_is_not_entered(run, project, tmp_path, leads_to):
    """The control hands the same name back, out of the folder itself."""
    outside = tmp_path / "outside"
    for folder in (outside, project / "sub"):
        folder.mkdir()
        (folder / "os-release").write_text("private\n")
    asked = {"profile": "build", "cwd": "sub", "artifacts": ("os-release", "*")}
    honest = await run("shell", "echo own > os-release", **asked)
    assert by_name(honest) == {"os-release": b"own\n"}
    swap = f"mv ../sub ../moved && ln -s {leads_to.format(outside=outside)} ../sub && echo swapped"
    result = await run("shell", swap, **asked)
    assert result.stdout.text == "swapped\n"
    assert not [a for a in result.artifacts if a.path]
    assert "its path has a link" in result.artifacts[0].reason


async def test_links_on_the_way_to_the_servers_own_folders_are_followed(
    project, tmp_path, monkeypatch
):
    for name in ("temporary", "state"):
        (tmp_path / f"real-{name}").mkdir(mode=0o700)
        (tmp_path / name).symlink_to(f"real-{name}")
    (tmp_path / "real-temporary").chmod(0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    async with open_engine(
        project=project, state_dir=tmp_path / "state", rules=None, home=Path.home()
    ) as engine:
        code = "echo plot > x; echo plot > $TMPDIR/y"
        request = Request("shell", code, artifacts=("x", "y"), profile="build")
        result = (await engine.run(request)).result
    assert [one.reason for one in result.artifacts] == ["", ""]


async def test_a_working_folder_that_is_gone_is_a_reason_and_no_error(run, project):
    (project / "sub").mkdir()
    asked = {"profile": "build", "cwd": "sub", "artifacts": ("x",)}
    result = await run("shell", "rmdir ../sub && echo gone", **asked)
    assert (result.status, result.stdout.text) == (Status.OK, "gone\n")
    assert "is missing" in result.artifacts[0].reason


@pytest.mark.tier_a
@pytest.mark.parametrize("pattern", ["/etc/os-release", "../*", "/proc/self/*", "/job/../etc/*"])
async def test_no_pattern_leads_out_of_the_folders(pattern, run):
    result = await run("shell", "echo x > x", artifacts=(pattern,))
    assert not [a for a in result.artifacts if a.path]


@pytest.mark.tier_a
async def test_too_large_and_too_many_are_told(run):
    large = "truncate -s 100M sparse; echo x > small"
    result = await run("shell", large, artifacts=("s*",), limits=Limits(artifact_bytes=1000))
    files = by_name(result)
    assert files["small"] == b"x\n"
    assert "exceed" in files["sparse"]
    many = await run("shell", "for i in $(seq 150); do : > f$i; done", artifacts=("f*",))
    assert sum(1 for a in many.artifacts if a.path) == 100
    assert "more than 100" in many.artifacts[-1].reason


@pytest.mark.tier_a
async def test_hostile_names_stay_inside_the_artifacts_folder(run):
    names = ["../../x", "-rf", "new\nline", "\x1b[31m", ".hidden", "é", "b" * 255]
    code = "import os\nfor n in NAMES:\n    open(os.path.basename(n), 'w').write('x')\n"
    code = f"NAMES = {names!r}\n{code}open(b'bad\\xff', 'w').write('x')"
    result = await run("python", code, artifacts=("*",))
    assert len(result.artifacts) == len(names) + 1
    folders = {Path(a.path).parent for a in result.artifacts}
    assert len(folders) == 1
    for artifact in result.artifacts:
        assert Path(artifact.path).is_file()
        artifact.name.encode()


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("a/b/plot.png", "plot.png"),
        ("../../etc/passwd", "passwd"),
        ("new\nline", "new_line"),
        ("/", "file"),
        ("x" * 200, "x" * 80),
    ],
)
def test_names_are_made_safe(name, safe):
    assert safe_name(name) == safe
