"""`build` of real projects leaves on the host what the same tools would have left there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from executor import Request, Result, Status, open_engine
from executor.request import BUILD
from executor.settings import Settings
from tests.executor.project.packages import S_MAX, npm_registry, wheels_of_installed
from tests.needs import need

OLD_S = 1_600_000_000  # what is to be built was written long ago


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    """Make the files of a project, as old as a project's are."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (OLD_S, OLD_S))


def on_host(folder: Path, *command: str, **env: str) -> str:
    """What a command prints on the host, both streams."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C"} | env,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=S_MAX,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def check(result: Result) -> Result:
    """The same, if all went well and all was committed."""
    said = f"{result.message}\n{result.stdout.text}\n{result.stderr.text}"
    assert result.status is Status.OK, said
    assert result.not_committed == ()
    assert result.changes_id is None
    return result


@pytest.fixture
def build(run):
    async def build_one(code: str, **more: object) -> Result:
        return await run("shell", f"set -e\n{code}", profile="build", timeout_s=S_MAX, **more)

    return build_one


# make


MAKEFILE = """\
OBJECTS := $(patsubst %.c,%.o,$(wildcard src/*.c src/*/*.c))
app: $(OBJECTS)
\t$(CC) -o $@ $^
%.o: %.c include/all.h
\t$(CC) -Iinclude -MMD -c -o $@ $<
clean:
\trm -f app $(OBJECTS) $(OBJECTS:.o=.d)
-include $(OBJECTS:.o=.d)
"""
C_FILES = {
    "Makefile": MAKEFILE,
    "include/all.h": "int one(void);\nint two(void);\n",
    "src/main.c": '#include <stdio.h>\n#include "all.h"\n'
    'int main(void) { printf("%d\\n", one() + two()); return 0; }\n',
    "src/a/one.c": '#include "all.h"\nint one(void) { return 1; }\n',
    "src/b/two.c": '#include "all.h"\nint two(void) { return 2; }\n',
}


async def test_make_has_nothing_to_do_on_the_host_afterwards(build, project: Path):
    need("make", "gcc")
    write(project, C_FILES)
    check(await build("make && ./app"))
    assert on_host(project, "./app") == "3\n"
    assert "is up to date" in on_host(project, "make")
    on_host(project, "make", "-q")

    (project / "src/a/one.c").write_text('#include "all.h"\nint one(void) { return 10; }\n')
    result = check(await build("make"))
    assert "src/a/one.c" in result.stdout.text
    assert "two.c" not in result.stdout.text
    assert on_host(project, "./app") == "12\n"
    assert "is up to date" in on_host(project, "make")

    check(await build("make clean"))
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert files == set(C_FILES)


async def test_a_session_builds_step_by_step_beside_an_editor(executor, project: Path):
    need("make", "gcc")
    write(project, C_FILES)

    async def make(code: str = "make") -> Result:
        return (
            await executor.run(Request("shell", code, profile="build", session="s", timeout_s=60))
        ).result

    check(await make())
    assert "is up to date" in on_host(project, "make")
    changed = project / "src/a/one.c.new"
    changed.write_text('#include "all.h"\nint one(void) { return 5; }\n')
    changed.rename(project / "src/a/one.c")
    assert check(await make("make && ./app")).stdout.text.endswith("\n7\n")
    assert on_host(project, "./app") == "7\n"
    assert "is up to date" in on_host(project, "make")
    assert "is up to date" in check(await make()).stdout.text


# npm


NPM_OPTIONS = "--no-audit --no-fund --omit-lockfile-registry-resolved=false --loglevel=error"
NPM_DEPENDENCY = {
    "package.json": json.dumps(
        {
            "name": "plural",
            "version": "1.2.3",
            "main": "lib/index.js",
            "bin": {"plural": "cli.js"},
            "dependencies": {"ending": "^2.0.0"},
        }
    ),
    "lib/index.js": "module.exports = (word) => word + require('ending');\n",
    "cli.js": "#!/usr/bin/env node\nconsole.log(require('.')(process.argv[2]));\n",
}
NPM_SECOND = {
    "package.json": json.dumps({"name": "ending", "version": "2.0.1"}),
    "index.js": "module.exports = 's';\n",
}
NPM_PROJECT = {
    "package.json": json.dumps(
        {
            "name": "app",
            "version": "0.0.1",
            "dependencies": {"plural": "^1.0.0"},
            "scripts": {"test": "plural cat && node --test test.js"},
        }
    ),
    "index.js": "module.exports = require('plural');\n",
    "test.js": "const assert = require('assert');\nassert.equal(require('.')('dog'), 'dogs');\n",
}


@pytest.fixture
def npm_cache(project: Path, tmp_path: Path) -> str:
    """The options by which npm finds all in a cache that an earlier installation has filled."""
    need("npm", "node")
    write(tmp_path / "packages/plural", NPM_DEPENDENCY)
    write(tmp_path / "packages/ending", NPM_SECOND)
    write(project, NPM_PROJECT)
    cache = project / "cache"
    with npm_registry(tmp_path / "packages") as address:
        options = f"--registry={address} --cache={cache} {NPM_OPTIONS}"
        on_host(project, "npm", "install", *options.split())
    shutil.rmtree(project / "node_modules")
    return options.replace(str(cache), "cache") + " --offline"


@pytest.mark.once
async def test_npm_installs_from_its_cache_and_tests(build, npm_cache: str, project: Path):
    (project / "package-lock.json").unlink()
    result = check(await build(f"npm install {npm_cache} && npm test {npm_cache}"))
    assert "cats\n" in result.stdout.text
    modules = project / "node_modules"
    assert os.readlink(modules / ".bin/plural") == "../plural/cli.js"
    assert on_host(project, "node", "-e", "console.log(require('.')('bird'))") == "birds\n"
    assert on_host(project, str(modules / ".bin/plural"), "cow") == "cows\n"
    assert "plural@1.2.3" in on_host(project, "npm", "ls", "--offline")
    assert json.loads((project / "package-lock.json").read_text())["packages"][
        "node_modules/ending"
    ]


async def test_npm_replaces_what_an_earlier_installation_left(build, npm_cache: str, project: Path):
    check(await build(f"npm ci {npm_cache}"))
    (project / "node_modules/plural/lib/index.js").write_text("broken\n")
    (project / "node_modules/astray").mkdir()
    (project / "node_modules/astray/index.js").write_text("astray\n")
    check(await build(f"npm ci {npm_cache}"))
    assert on_host(project, "node", "-e", "console.log(require('.')('bird'))") == "birds\n"
    assert not (project / "node_modules/astray").exists()
    check(await build(f"npm uninstall plural {npm_cache}"))
    assert "empty" in on_host(project, "npm", "ls", "--offline")
    assert not (project / "node_modules/plural").exists()


# pip


# The least that PEP 660 asks of a backend: the real ones need packages that may not be at hand.
BACKEND = """\
import os, zipfile
INFO = "greeting-0.1.dist-info"
def build_editable(folder, settings=None, metadata=None):
    files = {
        "greeting.pth": os.path.abspath("src"),
        f"{INFO}/METADATA": "Metadata-Version: 2.1\\nName: greeting\\nVersion: 0.1\\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{INFO}/entry_points.txt": "[console_scripts]\\ngreet = greeting:main\\n",
    }
    files[f"{INFO}/RECORD"] = "".join(f"{name},,\\n" for name in [*files, f"{INFO}/RECORD"])
    with zipfile.ZipFile(f"{folder}/greeting-0.1-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return "greeting-0.1-py3-none-any.whl"
"""
PYTHON_PROJECT = {
    "pyproject.toml": """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "greeting"
version = "0.1"
""",
    "backend.py": BACKEND,
    "src/greeting/__init__.py": "def main():\n    print('hello')\n",
    "tests/test_greeting.py": "import greeting\n\ndef test_it(capsys):\n    greeting.main()\n"
    "    assert capsys.readouterr().out == 'hello\\n'\n",
}


@pytest.mark.once
@pytest.mark.tier_a  # what pip installs names the folder that it was run in
async def test_pip_installs_an_editable_project_and_pytest_tests_it(build, project: Path):
    need("python3")
    if subprocess.run(["/usr/bin/python3", "-c", "import ensurepip"], check=False).returncode:
        pytest.skip("no ensurepip")
    write(project, PYTHON_PROJECT)
    (project / "wheels").mkdir()
    wheels_of_installed(["pytest"], project / "wheels")
    result = check(
        await build(
            "python3 -m venv .venv\n"
            ".venv/bin/pip install -q --disable-pip-version-check --no-index "
            "--find-links wheels pytest -e .\n"
            ".venv/bin/pytest -q && .venv/bin/greet"
        )
    )
    assert "1 passed" in result.stdout.text
    python = project / ".venv/bin/python"
    assert python.is_symlink()
    assert python.resolve() == Path("/usr/bin/python3").resolve()
    assert on_host(project, ".venv/bin/greet") == "hello\n"
    (project / "src/greeting/__init__.py").write_text("def main():\n    print('edited')\n")
    said = on_host(project, ".venv/bin/python", "-c", "import greeting, pytest; greeting.main()")
    assert said == "edited\n"
    assert "No broken requirements" in on_host(project, ".venv/bin/pip", "check")


# go and cargo


GO_PROJECT = {
    "go.mod": "module example.org/app\n\ngo 1.18\n",
    "main.go": 'package main\n\nimport (\n\t"example.org/app/one"\n\t"example.org/app/two"\n)\n\n'
    "func main() { println(one.Value + two.Value) }\n",
    "one/one.go": "package one\n\nconst Value = 1\n",
    "two/two.go": "package two\n\nvar Value = 2\n",
    "two/two_test.go": 'package two\n\nimport "testing"\n\n'
    "func TestValue(t *testing.T) {\n\tif Value != 2 {\n\t\tt.Fatal(Value)\n\t}\n}\n",
}


@pytest.mark.once
@pytest.mark.tier_a  # a key of the cache has the folder in it
async def test_go_compiles_nothing_on_the_host_afterwards(build, project: Path):
    need("go")
    write(project, GO_PROJECT)
    cache = project / ".cache"
    check(
        await build(f"export GOCACHE={cache}; go vet ./... && go build -o app . && go test ./...")
    )
    assert on_host(project, "./app") == "3\n"
    env = {"GOCACHE": str(cache), "GOFLAGS": "", "GOPROXY": "off", "PATH": "/usr/bin:/bin"}
    said = on_host(project, "go", "build", "-x", "-o", "app", ".", **env)
    assert "/compile" not in said
    assert "(cached)" in on_host(project, "go", "test", "./two", **env)


CARGO_PROJECT = {
    "Cargo.toml": '[workspace]\nmembers = ["app", "one", "two"]\nresolver = "2"\n',
    "app/Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n'
    '[dependencies]\none = { path = "../one" }\ntwo = { path = "../two" }\n',
    "app/src/main.rs": 'fn main() { println!("{}", one::value() + two::value()); }\n',
    **{
        f"{name}/{file}": text
        for name, value in (("one", 1), ("two", 2))
        for file, text in (
            (
                "Cargo.toml",
                f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'
                'build = "build.rs"\n',
            ),
            ("build.rs", 'fn main() { println!("cargo:rerun-if-changed=build.rs"); }\n'),
            ("src/lib.rs", f"pub fn value() -> u32 {{ {value} }}\n"),
        )
    },
}


@pytest.mark.tier_a  # a fingerprint has the folder in it
async def test_cargo_compiles_nothing_on_the_host_afterwards(
    project: Path, state_dir: Path, tmp_path: Path
):
    need("gcc")
    folder = toolchain_of_rust()
    write(project, CARGO_PROJECT)
    build = replace(BUILD, read=(str(folder),))
    path = f"{folder}/bin:/usr/bin:/bin"
    code = f"export PATH={path} CARGO_HOME=$HOME/cargo; cargo build --offline && cargo test -q"
    async with open_engine(
        project=project,
        state_dir=state_dir,
        rules=None,
        home=Path.home(),
        settings=Settings(profiles={"build": build}),
    ) as opened:
        for wanted in ("Compiling app", "Finished"):
            result = check(
                (await opened.run(Request("shell", code, profile="build", timeout_s=S_MAX))).result
            )
            assert wanted in result.stderr.text
    assert "Compiling" not in result.stderr.text
    env = {"PATH": path, "CARGO_HOME": str(tmp_path / "cargo")}
    said = on_host(project, "cargo", "build", "--offline", **env)
    assert "Finished" in said
    assert "Compiling" not in said
    assert on_host(project, "target/debug/app") == "3\n"


def toolchain_of_rust() -> Path:
    """The folder of cargo and its compiler."""
    if told := os.environ.get("CTXMODE_TEST_RUST"):
        return Path(told)
    need("rust")
    done = subprocess.run(
        ["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True
    )
    folder = Path(done.stdout.strip())
    if not (folder / "bin/cargo").exists():
        pytest.skip("this machine has no cargo beside rust")
    return folder
