"""Scripts of the project are looked into, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policy import Decision, Subject, load_file
from policy.decide import evaluate
from policy.judging import BYTES_MAX, script_texts
from policy.project_file import HiddenError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "deploy.sh").write_text("#!/bin/sh\ngit push origin\n")
    (project / ".env").write_text("git push x\n")
    (project / "large.sh").write_text("#" * (BYTES_MAX + 1))
    (project / "binary.sh").write_bytes(b"\xff\xfe")
    (tmp_path / "outside.sh").write_text("git push x\n")
    (project / "link.sh").symlink_to(tmp_path / "outside.sh")
    (project / "inner.sh").symlink_to(project / "deploy.sh")
    os.mkfifo(project / "pipe.sh")
    return project


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("deploy.sh", True),
        ("inner.sh", True),
        ("sub/../deploy.sh", True),
        ("large.sh", False),
        ("binary.sh", False),
        ("link.sh", False),
        ("pipe.sh", False),
        ("../outside.sh", False),
        ("none.sh", False),
        ("", True),  # a folder: the names in it
        ("sub/", True),
        ("../", False),
        ("nul\0.sh", False),
    ],
)
def test_only_plain_files_of_the_project_are_read(project, name, is_read):
    (project / "sub").mkdir()
    assert (script_texts(str(project))(f"{project}/{name}") is not None) is is_read


def test_a_file_that_is_hidden_from_programs_is_not_read(project):
    read = script_texts(str(project), lambda path: path.endswith("deploy.sh"))
    for name in (".env", "deploy.sh", "inner.sh"):
        with pytest.raises(HiddenError):
            read(f"{project}/{name}")
    assert read(f"{project}/") is not None


def test_running_a_script_counts_as_what_it_does(project, tmp_path):
    settings = tmp_path / "rules.json"
    settings.write_text('{"permissions": {"deny": ["Bash(git push *)"]}}')
    rules = load_file(settings, project=project, home=tmp_path)
    subject = Subject("shell", "sh deploy.sh", cwd=str(project), project=str(project))
    assert evaluate(subject, rules).allowed
    verdict = evaluate(subject, rules, read_text=script_texts(str(project)))
    assert verdict.decision is Decision.DENY
