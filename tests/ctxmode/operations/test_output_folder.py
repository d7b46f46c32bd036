"""Files are put where a person asked: beneath that folder, onto nothing, through no link."""

from __future__ import annotations

import os
import threading
from io import BytesIO
from pathlib import Path

import pytest

from ctxmode.errors import ContextModeError
from ctxmode.operations.output_folder import RefusedError, deliver, open_destination, remove_folder
from executor.model import Artifact, Result, Status
from executor.run.output_routing import Answer


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("project", "elsewhere", "kept"):
        (tmp_path / name).mkdir()
    return tmp_path / "project"


@pytest.fixture
def elsewhere(project: Path) -> Path:
    return project.parent / "elsewhere"


def handed(project: Path, *names: str) -> Answer:
    """The answer of a run that handed these back, as the executor keeps them."""
    artifacts = []
    for number, name in enumerate(names):
        kept = project.parent / "kept" / f"{number:02d}"
        kept.write_text(name)
        artifacts.append(Artifact(name, len(name), str(kept)))
    return Answer(Result(Status.OK, artifacts=tuple(artifacts)))


def told(answer: Answer) -> dict[str, str]:
    """By name the file that was made, or why none was."""
    return {a.name: Path(a.path).name if a.path else a.reason for a in answer.result.artifacts}


def test_artifacts_arrive_beside_what_is_there(project):
    out = project / "new" / "out"
    for expected in ("plot.png", "plot-1.png", "plot-2.png"):
        answer = deliver(handed(project, "d/plot.png"), out, project)
        assert told(answer) == {"d/plot.png": expected}
        assert (out / expected).read_text() == "d/plot.png"
    assert not list((project.parent / "kept").iterdir())


@pytest.mark.parametrize("there", ["a link", "a dangling link", "a file", "a folder", "a FIFO"])
def test_what_has_the_name_stays_as_it_is(there, project, elsewhere):
    at, victim = project / "plot.png", elsewhere / "victim"
    if there != "a dangling link":
        victim.write_text("mine")
    makes = {"a file": at.touch, "a folder": at.mkdir, "a FIFO": lambda: os.mkfifo(at)}
    makes.get(there, lambda: at.symlink_to(victim))()
    before = at.lstat()
    answer = deliver(handed(project, "plot.png"), project, project)
    assert told(answer) == {"plot.png": "plot-1.png"}
    assert (at.lstat().st_ino, at.lstat().st_size) == (before.st_ino, before.st_size)
    assert victim.exists() == (there != "a dangling link")
    # The control: whoever only looks whether a name is taken writes through a dangling link.
    if there == "a dangling link":
        at.write_text("through")
        assert victim.read_text() == "through"


@pytest.mark.parametrize("way", ["out", "out/deeper", "a/../out/x"])
def test_no_link_of_the_project_leads_out_of_it(way, project, elsewhere):
    (project / "out").symlink_to(elsewhere)
    answer = deliver(handed(project, "plot.png", "b"), project / way, project)
    assert all("is a link in the project" in why for why in told(answer).values())
    assert list(elsewhere.iterdir()) == []
    with pytest.raises(RefusedError):
        remove_folder(project / "out" / "x", project)
    # The control: the same way is walked where it lies outside the project.
    answer = deliver(handed(project, "plot.png"), project / way, project / "inner")
    assert told(answer) == {"plot.png": "plot.png"}
    assert len(list(elsewhere.rglob("plot.png"))) == 1


def test_a_link_within_the_project_is_not_followed_either(project):
    (project / ".vscode").mkdir()
    (project / "out").symlink_to(".vscode")
    answer = deliver(handed(project, "x"), project / "out", project)
    assert "is a link in the project" in told(answer)["x"]


def test_a_persons_own_link_to_the_project_is_followed(project, elsewhere):
    (elsewhere / "short").symlink_to(project)
    answer = deliver(handed(project, "x"), elsewhere / "short" / "out", project)
    assert told(answer) == {"x": "x"}
    assert (project / "out" / "x").exists()
    (project / "way").symlink_to(elsewhere)
    answer = deliver(handed(project, "x"), elsewhere / "short" / "way", project)
    assert "is a link in the project" in told(answer)["x"]


NEVER = [
    (".", "d/.envrc"),
    (".", ".ENVRC"),
    (".", ".bashrc"),
    (".", ".mcp.json"),
    (".", "x/.git"),
    ("sub", ".envrc"),
    (".vscode", "tasks.json"),
    (".VSCode", "tasks.json"),
    ("sub/.vscode", "tasks.json"),
    (".git/hooks", "post-commit"),
    (".husky/_", "pre-commit"),
]


@pytest.mark.parametrize(("folder", "name"), NEVER)
def test_what_tools_obey_comes_only_where_a_person_names_it(folder, name, project):
    for asked_for in ((), ("*",), ("**/" + Path(name).name,), ("[.]*", "*rc")):
        answer = deliver(handed(project, name), project / folder, project, asked_for)
        assert "tools may run or load" in told(answer)[name]
    assert not [path for path in project.rglob("*") if path.is_file()]
    answer = deliver(handed(project, name), project / folder, project, (name,))
    assert told(answer) == {name: Path(name).name}


def test_a_name_that_a_person_gave_asks_for_no_other(project):
    answer = deliver(handed(project, ".envrc", "d/.envrc"), project, project, ("e/.envrc", "rc"))
    assert [why.count("tools may run or load") for why in told(answer).values()] == [1, 1]


def test_a_file_named_absolutely_is_named(project):
    answer = deliver(handed(project, "d/.envrc"), project, project, ("/work/d/.envrc",))
    assert told(answer) == {"d/.envrc": ".envrc"}


@pytest.mark.parametrize("home", [True, False])
def test_outside_the_project_the_name_and_the_home_count(home, project, elsewhere, monkeypatch):
    if home:
        monkeypatch.setenv("HOME", str(elsewhere))
    answer = deliver(handed(project, ".bashrc", "x"), elsewhere, project)
    assert "tools may run or load" in told(answer)[".bashrc"]
    assert told(answer)["x"] == "x"


def test_a_project_below_a_folder_of_an_agent_is_one_like_any_other(tmp_path, project):
    inner = tmp_path / ".claude" / "worktrees" / "w"
    inner.mkdir(parents=True)
    assert told(deliver(handed(project, "x"), inner, inner)) == {"x": "x"}


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("..", "file"),
        ("d/..", "file"),
        ("d/", "file"),
        ("/etc/passwd", "passwd"),
        ("../../x", "x"),
        ("-rf", "_rf"),
        ("new\nline\x1b[31m", "new_line_31m"),
        ("\u202egnp", "_gnp"),
    ],
)
def test_whatever_a_file_is_called_it_arrives_in_the_folder(name, made, project):
    answer = deliver(handed(project, name), project, project)
    assert told(answer) == {name: made}
    assert (project / made).is_file()


def test_what_was_refused_before_is_told_as_it_was(project):
    skipped = Artifact("fifo", reason="not a regular file")
    answer = Answer(Result(Status.OK, artifacts=(skipped, *handed(project, "x").result.artifacts)))
    answer = deliver(answer, project, project)
    assert told(answer) == {"fifo": "not a regular file", "x": "x"}


def test_nothing_is_made_where_nothing_was_handed_back(project):
    deliver(Answer(Result(Status.OK)), project / "out", project)
    assert not (project / "out").exists()


def test_a_folder_that_cannot_be_one_is_told_with_a_way_out(project):
    (project / "out").touch()
    with pytest.raises(ContextModeError) as caught:
        deliver(handed(project, "x"), project / "out", project)
    assert caught.value.message.endswith("out: not a directory")
    assert "--artifacts-dir" in str(caught.value.hint)


def test_taken_names_come_to_an_end(project):
    (project / "x").touch()
    for number in range(1, 1000):
        (project / f"x-{number}").touch()
    answer = deliver(handed(project, "x"), project, project)
    assert "already exist" in told(answer)["x"]


def test_a_folder_that_becomes_a_link_meanwhile_wins_nothing(project, elsewhere):
    """Somebody swaps the folder, and what is in it, for links all the time."""
    out, aside, ended = project / "out", project / "aside", threading.Event()
    out.mkdir()

    def swap() -> None:
        while not ended.is_set():
            try:
                out.rename(aside)
                out.symlink_to(elsewhere)
                out.unlink()
                aside.rename(out)
                (out / "plot.png").symlink_to(elsewhere / "victim")
                (out / "plot.png").unlink()
            except OSError:
                continue

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(200):
            try:
                deliver(handed(project, "plot.png"), out, project)
            except ContextModeError:
                continue  # for a moment there was neither
    finally:
        ended.set()
        swapping.join()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("there", ["nothing", "a file", "a link", "a dangling link", "a folder"])
def test_a_report_replaces_a_regular_file_alone(there, project, elsewhere):
    at, victim = project / "report.json", elsewhere / "victim"
    if there == "a link":
        victim.write_text("mine")
    makes = {"nothing": lambda: None, "a file": at.touch, "a folder": at.mkdir}
    makes.get(there, lambda: at.symlink_to(victim))()
    with open_destination(project, project) as destination:
        if there in ("nothing", "a file"):
            destination.replace("report.json", BytesIO(b"new"))
            assert at.read_text() == "new"
        else:
            with pytest.raises(RefusedError, match="is not a regular file"):
                destination.replace("report.json", BytesIO(b"new"))
    assert [path.read_text() for path in elsewhere.iterdir()] == ["mine"] * (there == "a link")
    assert len(list(project.iterdir())) == 1


def test_what_is_removed_lies_where_it_seems_to(project, elsewhere):
    (elsewhere / "mine").touch()
    (project / "reports" / "case" / "deep").mkdir(parents=True)
    (project / "reports" / "case" / "link").symlink_to(elsewhere)
    remove_folder(project / "reports" / "case", project)
    assert list((project / "reports").iterdir()) == []
    (project / "link").symlink_to(elsewhere.parent)
    with pytest.raises(RefusedError):
        remove_folder(project / "link" / "elsewhere", project)
    assert (elsewhere / "mine").exists()
