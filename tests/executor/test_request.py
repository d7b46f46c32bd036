"""What cannot be run is refused before anything starts, with what to do instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import runtimes
from executor.model import Limits, Request, RequestError
from executor.project.view.search import ProjectSearch
from executor.request import ANALYZE, BUILD, CODE_BYTES_MAX, PROFILES, CheckedRequest, check


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print('hi')\n")
    (folder / "data.txt").write_text("1\n")
    (tmp_path / "outside.txt").write_text("secret\n")
    (tmp_path / "project-twin").mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "in").symlink_to("src")
    (folder / "gone").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    (folder / "large.py").write_bytes(b"#" * (CODE_BYTES_MAX + 1))
    return folder


IN_SRC = {"script": "src/main.py", "cwd": "src"}


def checked(request: Request, project: Path, **differing: object) -> CheckedRequest:
    fields = {
        "request": request,
        "language": runtimes.language(request.language),
        "text": request.code or "print('hi')\n",
        "script": None,
        "bind_file": None,
        "cwd": str(project),
        "limits": Limits(),
        "profile": ANALYZE,
    }
    return CheckedRequest(**(fields | differing))


@pytest.mark.parametrize(
    ("request_", "differing"),
    [
        (Request("shell", "true"), {}),
        (Request("bash", "true"), {}),
        (Request("python", path="src/main.py"), {"script": "src/main.py"}),
        (Request("python", path="in/main.py"), {"script": "src/main.py"}),
        (Request("python", path="main.py", cwd="src"), IN_SRC),
        (Request("python", path="../src/main.py", cwd="in"), IN_SRC),
        (Request("shell", "true", bind_file="data.txt"), {"bind_file": "data.txt"}),
        (Request("shell", "true", timeout_s=3), {"limits": Limits(wall_s=3)}),
        (Request("shell", "true", limits=Limits(processes=9)), {"limits": Limits(processes=9)}),
        (
            Request("shell", "true", limits=Limits(wall_s=9, cpu_s=8), timeout_s=3),
            {"limits": Limits(wall_s=3, cpu_s=8)},
        ),
        (Request("shell", "true", profile="build"), {"profile": BUILD}),
    ],
    ids=lambda value: "",
)  # fmt: skip
def test_a_request_is_resolved_to_real_paths(request_, differing, project: Path):
    paths = {name: str(project / value) for name, value in differing.items() if type(value) is str}
    assert check(request_, ProjectSearch(project), PROFILES) == checked(
        request_, project, **differing | paths
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("shell"), "either code or a path"),
        (Request("shell", "true", path="data.txt"), "either code or a path"),
        (Request("shell", ""), "the code is empty"),
        (Request("shell", " \n\t"), "the code is empty"),
        (Request("shell", "a\0b"), "NUL byte at character 1"),
        (Request("shell", "x\udc80"), "not valid Unicode at character 1"),
        (Request("shell", "#" * (CODE_BYTES_MAX + 1)), "at most 4,194,304"),
        (Request("python", path="large.py"), "at most 4,194,304"),
        (Request("shell", "true", limits=Limits(processes=1)), "minimum of 2"),
        (Request("klingon", "true"), "unknown language 'klingon'"),
        (Request("", "true"), "unknown language ''"),
        (Request("shell", "true", profile="root"), "unknown profile 'root'"),
        (Request("shell", "true", cwd="nowhere"), "'nowhere' is not a folder"),
        (Request("shell", "true", cwd="data.txt"), "'data.txt' is not a folder"),
        (Request("shell", "true", cwd=".."), "outside the project"),
        (Request("shell", "true", cwd="/"), "outside the project"),
        (Request("shell", "true", cwd="out"), "outside the project"),
        (Request("shell", "true", cwd="../project-twin"), "outside the project"),
        (Request("shell", "true", cwd="a\0b"), "cwd path holds a NUL byte"),
        (Request("shell", path="../outside.txt"), "outside the project"),
        (Request("shell", path="out/outside.txt"), "outside the project"),
        (Request("shell", path="/etc/passwd"), "outside the project"),
        (Request("shell", path="missing.sh"), "No such file"),
        (Request("shell", path="gone"), "No such file"),
        (Request("shell", path="data.txt/x"), "Not a directory"),
        (Request("shell", path="src"), "is a folder"),
        (Request("shell", path="pipe"), "not a regular file"),
        (Request("shell", path="a\0b"), "file path holds a NUL byte"),
        (Request("shell", "true", bind_file="out/outside.txt"), "outside the project"),
        (Request("shell", "true", bind_file="src"), "is a folder"),
        (Request("shell", "true", timeout_s=0), "wall_s must be a positive number"),
        (Request("shell", "true", timeout_s=float("inf")), "wall_s must be finite"),
        (Request("shell", "true", env={"A": "x\0y"}), "NUL byte"),
        (Request("shell", "true", env={"A=B": "x"}), "misplaced ="),
        (Request("shell", "true", args=("x\0",)), "NUL byte"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_run_is_refused_with_a_hint(request_, message, project: Path):
    with pytest.raises(RequestError) as caught:
        check(request_, ProjectSearch(project), PROFILES)
    assert message in caught.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="not applicable: root reads every file")
def test_a_file_that_may_not_be_read_is_refused(project: Path):
    (project / "data.txt").chmod(0)
    with pytest.raises(RequestError, match="permission denied"):
        check(Request("shell", path="data.txt"), ProjectSearch(project), PROFILES)


def test_a_project_at_the_root_of_the_file_system_has_everything_inside():
    assert (
        check(Request("shell", "true", cwd="/usr"), ProjectSearch(Path("/")), PROFILES).cwd
        == "/usr"
    )


@pytest.mark.parametrize("pattern", ["**/" * 9 + "x", "x" * 1_025])
def test_a_pattern_of_artifacts_has_bounds(project: Path, pattern: str) -> None:
    check(
        Request("python", code="1", artifacts=("**/" * 8 + "x", "x" * 1_024)),
        ProjectSearch(project),
        PROFILES,
    )
    with pytest.raises(RequestError, match=r"artifact pattern .* has over 1,024"):
        check(Request("python", code="1", artifacts=(pattern,)), ProjectSearch(project), PROFILES)
