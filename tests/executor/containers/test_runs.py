"""Runs in containers: the same statuses, limits, files and sessions as in cells."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import docker
import pytest

from executor import Limits, LocalEngine, Request, RequestError, Settings, Status, open_engine
from executor.containers import host
from policy import HiddenPaths
from tests.executor.project.git_work import shell

pytestmark = pytest.mark.xdist_group("containers")

KIB, MIB = 1024, 1024 * 1024


async def test_the_result_names_the_tier_its_layers_and_its_runtime(run):
    result = await run("shell", "echo hello")
    assert (result.status, result.stdout.text) == (Status.OK, "hello\n")
    assert result.isolation.tier == "C"
    layers = result.isolation.layers
    assert layers["runtime"].detail.startswith("runc")
    for name in ("namespaces", "seccomp", "capabilities", "cgroup", "network", "copy_on_write"):
        assert layers[name].active, name
        assert layers[name].detail


@pytest.mark.parametrize(
    ("code", "limits", "status"),
    [
        (
            "x = []\nwhile True: x.append(bytearray(10**7))",
            {"memory_bytes": 100 * MIB},
            Status.MEMORY_LIMIT,
        ),
        (
            "import os, time\nfor _ in range(99):\n    if os.fork() == 0: time.sleep(60)",
            {"processes": 20},
            Status.PROCESS_LIMIT,
        ),
        (
            "import os\nopen(os.environ['TMPDIR'] + '/x', 'wb').write(bytes(9 << 20))",
            {"scratch_bytes": 4 * MIB},
            Status.DISK_LIMIT,
        ),
        (
            "import os\nfor n in range(999): open(f'{n}', 'w').close()",
            {"scratch_inodes": 200},
            Status.DISK_LIMIT,
        ),
        ("while True: print('x' * 999)", {"output_bytes": 256 * KIB}, Status.OUTPUT_LIMIT),
        ("while True: pass", {"cpu_s": 1}, Status.CPU_LIMIT),
        ("import time; time.sleep(60)", {"wall_s": 1}, Status.TIMED_OUT),
        ("import os; os.kill(os.getpid(), 11)", {}, Status.SIGNALLED),
        ("raise SystemExit(3)", {}, Status.NONZERO_EXIT),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_each_limit_is_enforced_and_named(run, code, limits, status):
    result = await run("python", code, limits=Limits(**{"wall_s": 30, **limits}))
    assert result.status is status, f"{result.message} {result.stderr.text}"


async def test_all_output_arrives_whatever_is_read(run):
    code = "import sys\nsys.stdout.write('x' * 10_000_000)\nprint('\\nfinished')"
    result = await run("python", code, stdin=bytes(1_000_000))
    assert result.status is Status.OK
    assert result.stdout.bytes_total == 10_000_000 + len("\nfinished\n")


async def test_input_and_arguments_reach_the_program(run):
    code = "import sys; print(sys.stdin.read().upper(), sys.argv[1:])"
    result = await run("python", code, stdin=b"given", args=("a b", "c"))
    assert result.stdout.text == "GIVEN ['a b', 'c']\n"


async def test_analyze_changes_nothing_and_lists_what_would_have_changed(run, project: Path):
    (project / "kept").write_text("old")
    (project / "gone").write_text("old")
    code = "echo new > kept; echo new > made; rm gone; mkdir -p d/e; cat kept"
    result = await run("shell", code)
    assert result.stdout.text == "new\n"
    changes = {(change.path, change.change) for change in result.changed_files}
    assert changes >= {("kept", "modified"), ("made", "created"), ("gone", "deleted")}
    assert sorted(os.listdir(project)) == ["gone", "kept"]
    assert (project / "kept").read_text() == "old"


async def test_a_repository_takes_a_commit(run, project: Path):
    settings = "git config user.name x; git config user.email x@example.org"
    (project / "kept").write_text("old\n")
    shell(project, f"git init -q -b main; {settings}; git add kept; git commit -qm one")
    result = await run("shell", "echo new > kept; git commit -qam two", profile="build")
    assert (result.status, result.not_committed) == (Status.OK, ()), result.stderr.text
    log = "git log --format=%s; git status --porcelain -uno; git fsck --strict"
    assert shell(project, log) == "two\none\n"


async def test_build_commits_as_the_projects_owner_and_nothing_that_tools_obey(run, project: Path):
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    shutil.rmtree(project / ".git" / "hooks")
    (project / ".git" / "hooks").mkdir()
    code = "echo x > made; echo x > .envrc; echo x > .git/hooks/pre-commit || echo refused"
    result = await run("shell", code, profile="build")
    assert (project / "made").read_text() == "x\n"
    assert (project / "made").stat().st_uid == project.stat().st_uid
    assert {left.kind for left in result.not_committed} == {"never"}
    assert sorted(os.listdir(project)) == [".git", "made"]
    assert os.listdir(project / ".git" / "hooks") == []


async def test_secrets_of_the_project_are_covered(run, project: Path):
    (project / ".env").write_text("TOKEN=hidden")
    result = await run("shell", "cat .env; echo done")
    assert "hidden" not in result.stdout.text
    assert result.stdout.text == "done\n"


async def test_a_secret_that_came_after_a_container_was_made_is_covered_in_the_next_run(
    run, project: Path
):
    await run("shell", "echo first")  # more of its kind are made behind it
    (project / ".env").write_text("TOKEN=hidden")
    result = await run("shell", "cat .env; echo done")
    assert result.stdout.text == "done\n"


async def test_artifacts_come_back(run):
    code = "open('a.bin', 'wb').write(b'abc'); open('/tmp/b.txt', 'w').write('d')"
    result = await run("python", code, artifacts=("*.bin", "/tmp/b.txt"))
    contents = {a.name: Path(a.path).read_bytes() for a in result.artifacts if a.path}
    assert contents == {"a.bin": b"abc", "/tmp/b.txt": b"d"}


async def test_a_session_keeps_its_interpreter_and_its_files(run):
    await run("python", "x = 41; open('/tmp/kept', 'w').write('file')", session="s")
    result = await run("python", "x += 1; print(x, open('/tmp/kept').read())", session="s")
    assert (result.stdout.text, result.session) == ("42 file\n", "continued")
    failed = await run("python", "undefined", session="s")
    assert "NameError: name 'undefined'" in failed.stderr.text
    shared = await run("shell", "cat /tmp/kept", session="s")
    assert shared.stdout.text == "file"


async def test_a_program_can_neither_end_nor_read_nor_mislead_its_supervisor(run):
    code = """
import os, signal
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    try: os.kill(1, number)
    except OSError: pass
for path in ("/proc/1/fd/1", "/proc/1/mem", "/proc/1/environ"):
    try: open(path, "r+b"); print("opened", path)
    except OSError: pass
print("survived", sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:3])
"""
    result = await run("python", code)
    assert (result.status, result.stdout.text) == (Status.OK, "survived [0, 1, 2]\n")


async def test_a_floor_of_tier_a_is_refused_truthfully(engine, project, state_dir):
    from dataclasses import replace

    from executor.request import ANALYZE, PROFILES

    profiles = {**PROFILES, "strict": replace(ANALYZE, name="strict", floor="A")}
    settings = Settings(isolation="container", profiles=profiles)
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as executor:
        refused = (await executor.run(Request("shell", "echo ran", profile="strict"))).result
    assert refused.status is Status.SANDBOX_UNAVAILABLE
    assert "tier A" in refused.message


async def test_languages_of_two_images_do_not_share_a_session(executor: LocalEngine, run):
    report = await executor.language("javascript")
    if not report.runnable:
        pytest.skip(report.reason)
    await run("python", "x = 1", session="s")
    with pytest.raises(RequestError, match="another"):
        await run("javascript", "console.log(1)", session="s")


async def test_when_it_is_closed_nothing_of_it_is_left(
    engine: docker.APIClient, project: Path, tmp_path: Path
):
    state = tmp_path / "state"
    settings = Settings(isolation="container")
    async with open_engine(
        project=project, state_dir=state, rules=None, home=Path.home(), settings=settings
    ) as executor:
        for number in range(3):
            await executor.run(Request("shell", f"echo {number}"))
    filters = {"label": f"{host.INSTANCES}={state / 'instances'}"}
    assert engine.containers(all=True, filters=filters) == []
    assert not engine.volumes(filters=filters).get("Volumes")
    mounts = Path("/proc/self/mountinfo").read_text()
    assert str(project) not in mounts


@pytest.mark.parametrize("profile", ["analyze", "build"])
async def test_what_rules_deny_to_read_is_covered(
    run, executor: LocalEngine, project: Path, profile: str
):
    (project / "private").mkdir()
    (project / "private" / "a.txt").write_text("inside\n")
    (project / "notes.txt").write_text("outside\n")
    code = "cat notes.txt private/*"
    assert (await run("shell", code, profile=profile)).stdout.text == "outside\ninside\n"
    denied = (str(project / "private"), str(project / "notes.txt"))
    executor._runner.placement.search.deny(HiddenPaths(denied))
    assert (await run("shell", code, profile=profile)).stdout.text == ""
