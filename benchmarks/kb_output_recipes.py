"""Outputs of real tools, and what is asked of each: programs made from fixed seeds, then run.

A recipe writes its files into an empty folder and runs a shell command there. Tools that are not
here are left out, and the benchmark says so. Those of npm are installed for the purpose.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

WAIT_S = 600
WORDS = (
    *("account", "archive", "balance", "basket", "branch", "budget", "cache", "channel", "cursor"),
    *("ledger", "matrix", "mirror", "packet", "parcel", "pocket", "proxy", "ribbon", "router"),
    *("signal", "socket", "tariff", "ticket", "tunnel", "vector", "voucher", "widget", "window"),
)
FAILS = ("ledger", "parcel", "tunnel")
"""The words whose tests fail, or whose programs do not compile."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and a pattern of what answers it in the output: every match is a target."""

    query: str
    answer: bytes


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an output is made. `needs` are programs, `packages` those of npm."""

    name: str
    needs: tuple[str, ...]
    command: str
    asked: tuple[Asked, ...]
    files: Callable[[], Mapping[str, str]] = dict
    packages: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def make(recipe: Recipe, folder: Path) -> bytes | None:
    """The output of a recipe, both streams as they come; None where a tool is missing."""
    if any(shutil.which(program, path=_path()) is None for program in recipe.needs):
        return None
    for name, text in recipe.files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if recipe.packages:
        install = ["npm", "install", "--no-audit", "--no-fund", "--silent", *recipe.packages]
        if subprocess.run(install, cwd=folder, timeout=WAIT_S, check=False).returncode:
            return None
    done = subprocess.run(
        ["sh", "-c", recipe.command],
        cwd=folder,
        env={**os.environ, "PATH": _path(), "LC_ALL": "C.UTF-8", **recipe.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=WAIT_S,
        check=False,
    )
    return done.stdout


def _path() -> str:
    return f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _python_tests() -> dict[str, str]:
    head = "import unittest\n\n\nclass {name}Test(unittest.TestCase):\n"
    test = (
        "    def test_{word}_{n}(self):\n        found = {{'{word}': {n}, 'other': [1, 2, 3]}}\n"
        "        self.assertEqual(found['{word}'], {want})\n\n"
    )
    files = {}
    for word in WORDS:
        tests = (test.format(word=word, n=n, want=n + (word in FAILS and n == 3)) for n in range(8))
        files[f"test_{word}.py"] = head.format(name=word.title()) + "".join(tests)
    return files


def _go_tests() -> dict[str, str]:
    files = {"go.mod": "module example.org/shop\n\ngo 1.18\n"}
    for word in WORDS:
        tests = "".join(
            f"func Test{word.title()}{n}(t *testing.T) {{\n\tif got := {n}; got != "
            f'{n + (word in FAILS and n == 3)} {{\n\t\tt.Errorf("{word}: got %d", got)\n\t}}\n}}\n'
            for n in range(6)
        )
        files[f"{word}/{word}_test.go"] = f'package {word}\n\nimport "testing"\n\n{tests}'
    return files


def _cargo_tests() -> dict[str, str]:
    tests = "".join(
        f"    #[test]\n    fn {word}_{n}() {{ assert_eq!({n}, "
        f"{n + (word in FAILS and n == 3)}); }}\n"
        for word in WORDS
        for n in range(6)
    )
    return {
        "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": f"#[cfg(test)]\nmod tests {{\n{tests}}}\n",
    }


def _javascript_tests(suffix: str, head: str = "") -> dict[str, str]:
    files = {}
    for word in WORDS:
        tests = "".join(
            f"  test('adds {word} {n}', () => {{ assert.strictEqual({n}, "
            f"{n + (word in FAILS and n == 3)}); }});\n"
            for n in range(6)
        )
        files[f"test/{word}{suffix}"] = (
            f"{head}const assert = require('assert');\ndescribe('{word}', () => {{\n{tests}}});\n"
        )
    return files


def _c_files() -> dict[str, str]:
    body = "".join(
        f"static int part_{n}(int unused_{n}) {{ int spare_{n} = {n}; return {n}; }}\n"
        for n in range(4)
    )
    return {
        f"src/{word}.c": f"{body}int {word}(void) {{ return {word}_missing; }}\n"
        if word in FAILS
        else f"{body}int {word}(void) {{ return 0; }}\n"
        for word in WORDS
    }


def _java_files() -> dict[str, str]:
    return {
        f"{word.title()}.java": f"class {word.title()} {{\n"
        + "".join(f"  int part{n}() {{ return {word}Missing{n}; }}\n" for n in range(3))
        + "}\n"
        for word in WORDS
    }


def _typed_python() -> dict[str, str]:
    return {
        f"shop/{word}.py": "import os\n\n\n"
        + "".join(
            f"def {word}_{n}(value: int) -> str:\n    return value + {n}\n\n\n" for n in range(3)
        )
        for word in WORDS
    }


def _typescript() -> dict[str, str]:
    return {
        f"src/{word}.ts": "".join(
            f"export const {word}{n}: number = '{word}';\nlet unused{n} = {n};\n" for n in range(3)
        )
        for word in WORDS
    } | {
        "eslint.config.js": "module.exports = [{ rules: { 'no-unused-vars': 'error', "
        "'prefer-const': 'warn', 'no-undef': 'error' } }];\n"
    }


def _plain_javascript() -> dict[str, str]:
    files = {name.replace(".ts", ".js"): text for name, text in _typescript().items()}
    return {name: text.replace(": number", "") for name, text in files.items()}


def _rust_program() -> dict[str, str]:
    body = "".join(
        f"pub fn {word}() -> u32 {{ let spare = 1; {word}_missing() }}\n" for word in WORDS[:14]
    )
    return {**_cargo_tests(), "src/lib.rs": body}


def _table() -> dict[str, str]:
    chance = random.Random(7)
    rows = "".join(
        f"{n},{chance.choice(WORDS)}-{n},{chance.choice(WORDS)}@example.org,"
        f"{chance.randrange(1000)},2026-0{chance.randrange(1, 10)}-11\n"
        for n in range(900)
    )
    return {"table": f"id,name,mail,amount,day\n{rows}"}


def _image_build() -> dict[str, str]:
    """What `docker build --progress=plain` prints, in BuildKit's form and in the form before it.
    The text is made up, so that no daemon is needed."""
    chance = random.Random(11)
    new = ['#0 building with "default" instance using docker driver', ""]
    new += ["#1 [internal] load build definition from Dockerfile"]
    new += ["#1 transferring dockerfile: 1.42kB done", "#1 DONE 0.0s", ""]
    old = ["Sending build context to Docker daemon  4.096MB"]
    steps = len(WORDS) + 1
    for at, word in enumerate(WORDS, 2):
        digest = "".join(chance.choices("0123456789abcdef", k=12))
        asked = f"RUN make {word}" if at % 2 or word in FAILS else f"COPY {word}/ /srv/{word}/"
        new.append(f"#{at + 3} [{at:2}/{steps}] {asked}")
        old += [f"Step {at}/{steps} : {asked}", f" ---> Running in {digest}"]
        seconds = 0.0
        for n in range(chance.randrange(3, 12) if asked.startswith("RUN") else 0):
            seconds += chance.random()
            said = f"cc -O2 -c {word}/part_{n}.c -o build/{word}_{n}.o"
            new.append(f"#{at + 3} {seconds:.3f} {said}")
            old.append(said)
        if word == FAILS[-1]:
            wrong = f"{word}/part_3.c:14:9: error: '{word}_size' undeclared"
            new += [f"#{at + 3} {seconds:.3f} {wrong}", f"#{at + 3} ERROR: process \"/bin/sh -c "
                    f"make {word}\" did not complete successfully: exit code: 2"]  # fmt: skip
            old += [wrong, f"The command '/bin/sh -c make {word}' returned a non-zero code: 2"]
            break
        new += [f"#{at + 3} DONE {seconds:.1f}s" if at % 5 else f"#{at + 3} CACHED", ""]
        old += [f"Removing intermediate container {digest}", f" ---> {digest[::-1]}"]
    new += ["------", f" > [{at:2}/{steps}] RUN make {FAILS[-1]}:", wrong, "------"]
    new += [f"ERROR: failed to solve: process \"/bin/sh -c make {FAILS[-1]}\" did not complete"
            " successfully: exit code: 2"]  # fmt: skip
    return {"new": "\n".join(new) + "\n", "old": "\n".join(old) + "\n"}


_REPOSITORY = """
git init -q . && git config user.name Ada && git config user.email ada@example.org
i=0
for word in {words}; do
  i=$((i + 1))
  echo "$word" > "$word.txt"
  git add . && GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z" \
    git commit -q -m "Bound the $word by its size" -m "Before, number $i grew without end."
done
git --no-pager {log}
"""

_TESTS_ASKED = (
    Asked("which test failed ledger", rb"[^\n]*ledger_3[^\n]*\n"),
    Asked("what failed in test_parcel_3", rb"_+ [^\n]*test_parcel_3 _+\n|FAIL: test_parcel_3"),
    Asked("how many passed", rb"3 failed, 213 passed[^\n]*"),
    Asked("summary", rb"3 failed, 213 passed[^\n]*"),
)


def _repository(name: str, log: str, *asked: Asked) -> Recipe:
    return Recipe(name, ("git",), _REPOSITORY.format(words=" ".join(WORDS), log=log), asked)


_NODE_HEAD = "const {test, describe} = require('node:test');\n"

RECIPES = (
    Recipe("pytest", (), f"{sys.executable} -m pytest -p no:cacheprovider",
           _TESTS_ASKED, _python_tests),
    Recipe("pytest-quiet", (), f"{sys.executable} -m pytest -q -p no:cacheprovider",
           _TESTS_ASKED, _python_tests),
    Recipe("pytest-verbose", (), f"{sys.executable} -m pytest -v --color=yes -p no:cacheprovider",
           (Asked("what failed in test_parcel_3", rb"_+ [^\n]*test_parcel_3 _+[^\n]*\n"),
            Asked("how many passed", rb"3 failed[^\n]*213 passed[^\n]*"),
            Asked("did test_socket_4 pass", rb"[^\n]*test_socket_4[^\n]*")), _python_tests),
    Recipe("unittest", (), f"{sys.executable} -m unittest -v",
           (Asked("what failed in test_parcel_3", rb"FAIL: test_parcel_3"),
            Asked("which test failed ledger", rb"FAIL: test_ledger_3"),
            Asked("how many failures", rb"FAILED \(failures=3\)"),
            Asked("how many tests ran", rb"Ran 216 tests")), _python_tests),
    Recipe("go-test", ("go",), "go test ./...",
           (Asked("what failed in parcel", rb"--- FAIL: TestParcel3[^\n]*\n[^\n]*"),
            Asked("TestTunnel3", rb"--- FAIL: TestTunnel3"),
            Asked("which package failed ledger", rb"FAIL\t[^\n]*ledger")), _go_tests),
    Recipe("go-test-verbose", ("go",), "go test -v ./...",
           (Asked("what failed in parcel", rb"--- FAIL: TestParcel3[^\n]*"),
            Asked("FAIL TestTunnel3", rb"--- FAIL: TestTunnel3"),
            Asked("did TestSocket4 pass", rb"--- PASS: TestSocket4")), _go_tests),
    Recipe("cargo-test", ("cargo",), "cargo test --offline",
           (Asked("why did parcel_3 fail", rb"---- tests::parcel_3 stdout ----"),
            Asked("how many passed", rb"test result: FAILED[^\n]*"),
            Asked("did socket_4 pass", rb"test tests::socket_4 \.\.\. ok")), _cargo_tests),
    Recipe("node-test", ("node",), "node --test --test-reporter=spec test/",
           (Asked("why did adds parcel 3 fail", rb"adds parcel 3[^\n]*\n[^\n]*Assertion"),
            Asked("how many tests failed", rb"[^\n]* fail 3\n")),
           lambda: _javascript_tests(".test.js", _NODE_HEAD)),
    Recipe("node-tap", ("node",), "node --test --test-reporter=tap test/",
           (Asked("not ok adds parcel 3", rb"not ok \d+ - adds parcel 3"),
            Asked("how many tests failed", rb"# fail 3")),
           lambda: _javascript_tests(".test.js", _NODE_HEAD)),
    Recipe("jest", ("npm", "npx"), "npx jest --verbose --colors",
           (Asked("why did adds parcel 3 fail", rb"\xe2\x97\x8f [^\n]*adds parcel 3[^\n]*"),
            Asked("how many tests failed", rb"Tests: [^\n]*3 failed[^\n]*"),
            Asked("which suite fails ledger", rb"FAIL[^\n]*ledger")),
           lambda: _javascript_tests(".test.js"), packages=("jest",)),
    Recipe("mocha", ("npm", "npx"), "npx mocha --ui bdd --require ./mocha.js test",
           (Asked("why did adds parcel 3 fail", rb"\d\) parcel\n +adds parcel 3:"),
            Asked("how many passing", rb"159 passing[^\n]*"),
            Asked("how many failing", rb"3 failing")),
           lambda: {**_javascript_tests(".js"), "mocha.js": "Object.defineProperty(global, 'test',"
                    " { get: () => global.it });\n"}, packages=("mocha",)),
    Recipe("gcc", ("gcc",), "for f in src/*.c; do gcc -Wall -Wextra -c $f -o /dev/null; done",
           (Asked("error in file parcel.c", rb"src/parcel\.c:\d+:\d+: error:[^\n]*"),
            Asked("ledger_missing undeclared", rb"src/ledger\.c:[^\n]*ledger_missing[^\n]*"),
            Asked("warnings in socket.c", rb"src/socket\.c:[^\n]*warning[^\n]*")), _c_files),
    Recipe("javac", ("javac",), "javac *.java",
           (Asked("error in Parcel.java", rb"Parcel\.java:\d+: error:[^\n]*"),
            Asked("cannot find symbol ledgerMissing1",
                  rb"symbol:   variable ledgerMissing1"),
            Asked("how many errors", rb"\d+ errors")), _java_files),
    Recipe("rustc", ("cargo",), "cargo build --offline --color=always",
           (Asked("cannot find function ledger_missing", rb"[^\n]*ledger_missing[^\n]*"),
            Asked("how many errors", rb"could not compile[^\n]*")), _rust_program),
    Recipe("mypy", ("mypy",), "mypy --no-incremental --pretty shop",
           (Asked("error in parcel.py", rb"shop/parcel\.py:\d+: error:"),
            Asked("how many errors", rb"Found 81 errors[^\n]*")), _typed_python),
    Recipe("ruff", ("ruff",), "ruff check --no-cache --isolated shop",
           (Asked("unused import in parcel.py", rb"--> shop/parcel\.py:[^\n]*"),
            Asked("how many errors", rb"Found 27 errors[^\n]*")), _typed_python),
    Recipe("tsc", ("npm", "npx"), "npx tsc --noEmit --strict src/*.ts",
           (Asked("error in parcel.ts", rb"src/parcel\.ts\(\d+[^\n]*"),
            Asked("ledger2 not assignable", rb"src/ledger\.ts\(5[^\n]*")),
           _typescript, packages=("typescript",)),
    Recipe("eslint", ("npm", "npx"), "npx eslint --color src",
           (Asked("problems in parcel.js", rb"[^\n]*src/parcel\.js[^\n]*\n[^\n]*"),
            Asked("how many problems errors warnings", rb"\d+ problems \([^\n]*")),
           _plain_javascript, packages=("eslint",)),
    Recipe("npm-install", ("npm",), "npm install --no-progress eslint@8 request",
           (Asked("how many packages were added", rb"added \d+ packages[^\n]*"),
            Asked("how long did the install take", rb" in \d+m?s"))),
    Recipe("npm-missing", ("npm",), "npm install no-such-package-as-this-one-here",
           (Asked("npm error code", rb"npm [^\n]*code E404"),)),
    Recipe("pip", (), f"{sys.executable} -m pip install --dry-run --target . sphinx tornado",
           (Asked("would install which tornado", rb"Would install [^\n]*"),
            Asked("collecting babel", rb"Collecting babel[^\n]*"))),
    Recipe("apt", ("apt-get",), "apt-get -s install texlive-latex-extra",
           (Asked("how many newly installed", rb"\d+ upgraded, \d+ newly installed[^\n]*"),
            Asked("Inst lmodern", rb"Inst lmodern[^\n]*"),
            Asked("suggested packages", rb"Suggested packages:"))),
    Recipe("dpkg", ("dpkg",), "dpkg -l",
           (Asked("version of bash", rb"ii  bash [^\n]*"),
            Asked("version of tar", rb"ii  tar [^\n]*"))),
    Recipe("strace", ("strace",), "strace ls -l /usr /etc",
           (Asked("exited with", rb"\+\+\+ exited with[^\n]*"),
            Asked("execve", rb"execve\([^\n]*"),
            Asked("openat ENOENT", rb"openat\([^\n]*ENOENT[^\n]*"))),
    Recipe("ls", ("ls",), "ls -l /usr/bin",
           (Asked("size of bash", rb"[^\n]* bash\n"), Asked("tar", rb"[^\n]* tar\n"))),
    Recipe("csv", (), "cat table",
           (Asked("row 450", rb"\n450,[^\n]*"), Asked("which columns", rb"id,name,mail[^\n]*")),
           _table),
    Recipe("docker-build", (), "cat new",
           (Asked("why did the build fail", rb"#\d+ ERROR: process[^\n]*|ERROR: failed to solve"),
            Asked("error in tunnel", rb"[^\n]*tunnel_size' undeclared"),
            Asked("step that copies branch", rb"\[[^\n]*COPY branch/[^\n]*"),
            Asked("RUN make parcel", rb"\[[^\n]*RUN make parcel[^\n]*")), _image_build),
    Recipe("docker-legacy", (), "cat old",
           (Asked("why did the build fail", rb"The command [^\n]* returned a non-zero code"),
            Asked("error in tunnel", rb"[^\n]*tunnel_size' undeclared"),
            Asked("step that copies branch", rb"Step [^\n]*COPY branch/[^\n]*"),
            Asked("RUN make parcel", rb"Step [^\n]*RUN make parcel[^\n]*")), _image_build),
    _repository("git-log", "log",
                Asked("commit Bound the parcel", rb"    Bound the parcel[^\n]*"),
                Asked("number 7 grew without end", rb"[^\n]*number 7 grew[^\n]*")),
    _repository("git-oneline", "log --oneline",
                Asked("Bound the parcel", rb"[^\n]*Bound the parcel[^\n]*")),
    _repository("git-stat", "log --stat",
                Asked("which commit changed parcel.txt", rb"[^\n]*parcel\.txt[^\n]*"),
                Asked("Bound the tunnel", rb"    Bound the tunnel[^\n]*")),
    _repository("git-patch", "log -p --color=always",
                Asked("which commit changed parcel.txt", rb"diff --git a/parcel\.txt[^\n]*"),
                Asked("Bound the tunnel", rb"    Bound the tunnel[^\n]*")),
)  # fmt: skip
