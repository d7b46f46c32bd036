"""What a prepared program places, starts, and puts in its environment."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from runtimes.model import Candidate, Step
from runtimes.program import prepare
from runtimes.registry import LANGUAGES, language


def candidate(name, toolchain=None, env=None):
    row = language(name)
    chain = next(t for t in row.toolchains if toolchain in (None, t.name))
    paths = {role: f"/usr/bin/{names[0]}" for role, names in chain.executables.items()}
    return Candidate(row, chain, paths, paths, (), (), env=env or {})


def test_code_is_placed_and_run_with_its_arguments():
    program = prepare(candidate("python"), code="print(1)", cwd="/project", args=("a", "{cwd}"))
    assert program.files == {"main.py": b"print(1)"}
    assert program.steps == (Step(("/usr/bin/python3", "/job/main.py", "a", "{cwd}"), "run"),)
    assert program.env["PYTHONPATH"] == "/project"
    assert "FILE_CONTENT_PATH" not in program.env


def test_a_script_is_run_where_it_lies_and_never_read():
    program = prepare(candidate("python"), script_path="/project/no such.py", cwd="/project")
    assert program.files == {}
    assert program.steps == (Step(("/usr/bin/python3", "/project/no such.py"), "run"),)


def test_a_compiled_language_has_two_steps_and_a_product():
    program = prepare(candidate("c"), code="int main() {}", cwd="/p", scratch_dir="/s")
    assert [step.phase for step in program.steps] == ["compile", "run"]
    assert program.steps[1].argv == ("/s/.program",)
    assert program.products == ("/s/.program",)


def test_a_bound_file_travels_by_environment_and_never_by_text():
    path = '/project/it\'s "here" ${x} {cwd}.txt'
    for row in LANGUAGES:
        program = prepare(candidate(row.name), code=row.hello, bind_file=path, cwd="/project")
        assert program.env["FILE_CONTENT_PATH"] == path
        assert not any(path.encode() in content for content in program.files.values())
        assert not any(path in argument for step in program.steps for argument in step.argv)


@pytest.mark.parametrize("given", [{}, {"code": "1", "script_path": "/a.py"}])
def test_code_or_a_script_must_be_given_and_not_both(given):
    with pytest.raises(ValueError, match="exactly one of code and script_path"):
        prepare(candidate("python"), cwd="/project", **given)


def test_text_that_no_file_can_hold_is_a_value_error():
    with pytest.raises(ValueError, match="surrogates"):
        prepare(candidate("python"), code="'\ud800'", cwd="/project")


def test_a_homes_packages_come_behind_the_projects():
    found = candidate("perl", env={"PERL5LIB": "/home/me/perl5/lib/perl5"})
    env = prepare(found, code="1", cwd="/p").env
    assert env["PERL5LIB"] == "/p/lib:/p:/home/me/perl5/lib/perl5"


def test_further_folders_of_lua_come_before_its_own():
    found = candidate("lua", env={"LUA_PATH": "/more/?.lua"})
    env = prepare(found, code="x = 1", cwd="/p").env
    assert env["LUA_PATH"] == "/p/?.lua;/p/?/init.lua;/more/?.lua;;"


@pytest.mark.parametrize(("name", "toolchain"), [("java", "jdk"), ("csharp", "mono")])
def test_what_finds_packages_is_told_to_whoever_compiles(name, toolchain):
    given = candidate(name, toolchain)._replace(packages=("--at", "{out}:/packages"))
    compiling, _ = prepare(given, code="x", cwd="/p").steps
    at = compiling.argv[compiling.argv.index("--at") + 1]
    assert at.startswith("/tmp/.")
    assert at.endswith(":/packages")
    assert "{packages}" not in prepare(candidate(name, toolchain), code="x", cwd="/p").steps[0].argv


def test_the_nearest_node_modules_is_linked_beside_code(tmp_path):
    (tmp_path / "node_modules").mkdir()
    below = tmp_path / "packages/one"
    below.mkdir(parents=True)
    program = prepare(candidate("javascript", "node"), code="1", cwd=str(below))
    assert program.links == {"node_modules": str(tmp_path / "node_modules")}


@pytest.mark.parametrize(
    ("package", "root"), [("", "src/a/b"), ("package a.b;", "src"), ("package x;", "src/a/b")]
)
def test_java_sources_are_looked_for_from_the_root_of_the_package(package, root, tmp_path):
    script = tmp_path / "src/a/b/Main.java"
    script.parent.mkdir(parents=True)
    script.write_text(f"{package}\nclass Main {{}}")
    program = prepare(candidate("java"), script_path=str(script), cwd=str(tmp_path))
    argv = program.steps[0].argv
    assert argv[argv.index("-sourcepath") + 1] == str(tmp_path / root)


def test_a_script_whose_text_is_needed_must_be_readable(tmp_path):
    with pytest.raises(FileNotFoundError):
        prepare(candidate("java"), script_path=str(tmp_path / "No.java"), cwd=str(tmp_path))


@pytest.mark.parametrize("row", LANGUAGES, ids=lambda row: row.name)
def test_every_row_prepares_its_hello_on_each_toolchain(row):
    for toolchain in row.toolchains:
        found = candidate(row.name, toolchain.name)
        for bind_file in (None, "/project/data.txt"):
            program = prepare(found, code=row.hello, bind_file=bind_file, cwd="/project")
            assert program.files
            assert program.steps[-1].phase == "run"
            assert not any("{" in argument for step in program.steps for argument in step.argv)
            assert all(Path(step.argv[0]).is_absolute() for step in program.steps)


def test_a_jvm_and_its_compiler_wait_once_what_they_wait_by_is_compiled():
    jdk = candidate("java")
    program = prepare(jdk, code="int x;", cwd="/project")
    assert (program.prewarm, program.compiler_prewarm) == (None, None)
    agent = jdk._replace(compiled={".classes/ctxmode/prewarm/Prewarm.class": b"code"})
    program = prepare(agent, code="int x;", cwd="/project")
    for plan, step in (
        (program.compiler_prewarm, program.steps[0]),
        (program.prewarm, program.steps[1]),
    ):
        assert plan is not None
        (first,) = plan.steps
        assert first.phase == step.phase
        assert [part for part in first.argv if "-javaagent" not in part] == list(step.argv)
        with zipfile.ZipFile(io.BytesIO(plan.files[".prewarm/prewarm.jar"])) as archive:
            assert archive.read("ctxmode/prewarm/Prewarm.class") == b"code"


def test_a_jvm_waits_for_a_script_that_javac_must_not():
    agent = candidate("java")._replace(compiled={".classes/ctxmode/prewarm/Prewarm.class": b"code"})
    script = Path(__file__).with_name("test_scripts.py")
    program = prepare(agent, script_path=str(script), cwd="/project")
    assert program.prewarm is not None
    assert program.compiler_prewarm is None
