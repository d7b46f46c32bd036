"""What a build is given: the same bytes for the same files, nothing of the host's in them."""

import ast
import io
import sys
import tarfile

from images import groups


def members(archive: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {member.name: member for member in tar.getmembers()}


def test_the_same_files_make_the_same_bytes():
    entries = {"b/c": b"#!/bin/sh\n", "a": b"x"}
    assert groups.archive(entries) == groups.archive(dict(reversed(entries.items())))


def test_files_are_root_s_and_only_scripts_may_be_run():
    made = members(groups.archive({"b/c": b"#!/bin/sh\n", "a": b"x"}))
    assert {name: (m.mode, m.uid, m.uname, m.mtime) for name, m in made.items()} == {
        "b": (0o755, 0, "", 0),
        "b/c": (0o755, 0, "", 0),
        "a": (0o644, 0, "", 0),
    }


def test_toolchains_are_given_the_dockerfile_the_scripts_and_the_packages():
    made = groups.for_toolchains(groups.group("web"))
    scripts = {"build/install", "build/install-npm", "build/finish"}
    packages = {"build/packages/debian", "build/packages/npm"}
    assert set(made) == {"Dockerfile"} | scripts | packages


def test_an_image_is_given_this_program_s_part():
    expected = {
        "agent/__main__.py",
        "agent/hello.py",
        "spawner/messages.py",
        "runtimes/registry.py",
    }
    assert {f"ctxmode/{name}" for name in expected} <= set(groups.for_image())


def test_an_image_s_part_imports_only_what_it_holds():
    held = {name.split("/")[1] for name in groups.for_image() if name.startswith("ctxmode/")}
    for name, content in groups.for_image().items():
        for node in ast.parse(content).body if name.endswith(".py") else ():
            absolute = isinstance(node, ast.ImportFrom) and not node.level
            names = [node.module] if absolute else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            # __main__.py gives them the names that they have at home.
            here = (each.removeprefix("executor.").removeprefix("containers.") for each in names)
            tops = {each.partition(".")[0] for each in here}
            assert tops <= held | sys.stdlib_module_names, name


def test_what_tools_leave_beside_sources_is_no_content(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    for name in ("a.py", ".a.py.swp", "__pycache__/a.cpython-311.pyc"):
        (tmp_path / name).touch()
    assert list(groups.source_files(tmp_path)) == [tmp_path / "a.py"]
