"""The policy stands in front of every run: of its text, its script and the file bound to it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import policy
from executor import Request, Status, open_executor


@pytest.fixture
async def guarded(project: Path, state_dir: Path, tmp_path: Path):
    """Run a request under the project's rules, which are read anew for each."""
    rules = partial(policy.load_rules, project, home=tmp_path / "home")
    async with open_executor(
        project=project, state_dir=state_dir, rules=rules, home=Path.home()
    ) as opened:

        async def run(request: Request):
            return (await opened.run(request)).result

        yield run


def deny(project: Path, *rules: str) -> None:
    folder = project / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"permissions": {"deny": rules}}))


async def test_a_rule_holds_from_the_moment_it_is_written(guarded, project: Path):
    request = Request("shell", "id -u >/dev/null && echo ran")
    assert (await guarded(request)).stdout.text == "ran\n"
    deny(project, "Bash(id *)")
    denied = await guarded(request)
    assert (denied.status, denied.stdout.text) == (Status.DENIED, "")
    assert "Bash(id *)" in denied.message
    assert "settings.json" in denied.message


@pytest.mark.parametrize(
    "request_of",
    [
        lambda: Request("shell", "cat notes.txt"),
        lambda: Request("python", "print(open('notes.txt').read())"),
        lambda: Request("python", "print(FILE_CONTENT)", bind_file="notes.txt"),
        lambda: Request("python", "print(FILE_CONTENT)", bind_file="link.txt"),
        lambda: Request("shell", path="notes.txt"),
    ],
)
async def test_a_file_that_may_not_be_read_is_not_reached_in_any_way(
    request_of, guarded, project: Path
):
    (project / "notes.txt").write_text("echo canary\n")
    (project / "link.txt").symlink_to("notes.txt")
    assert "canary" in (await guarded(request_of())).stdout.text  # the control
    deny(project, "Read(./notes.txt)")
    denied = await guarded(request_of())
    assert (denied.status, denied.stdout.text) == (Status.DENIED, "")


async def test_nothing_runs_while_a_rule_file_is_broken(guarded, project: Path):
    deny(project, "Bash(id *)")
    (project / ".claude" / "settings.json").write_text("{ broken")
    with pytest.raises(policy.RuleFileError):
        await guarded(Request("shell", "echo ran"))
