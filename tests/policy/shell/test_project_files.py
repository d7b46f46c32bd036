"""What a runner starts by a name in a project's file counts as what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import Subject, load_file
from policy.decide import evaluate
from policy.judging import script_texts

PACKAGE = """{
  "name": "app", "bin": {"app": "cli.sh"}, "workspaces": ["packages/*"],
  "scripts": {
    "wipe": "rm -rf build", "say": "echo rm -rf build", "prebuild": "rm -rf dist",
    "build": "tsc", "all": "npm run say && npm run deep", "deep": "yarn wipe", "git": "git",
    "clean:a": "echo a", "clean:b": "rm -rf b", "loop": "npm run loop", "test": "jest $UNKNOWN",
    "prepare": "rm -rf .husky", "cc": "concurrently npm:wipe", "env": "cross-env A=1 rm -rf x",
    "version": "sudo x", "un": "$(cat x) -rf build",
    "some": "rm -rf $DIR", "may": "rm $FLAGS build", "lint": "eslint ."
  }
}"""
MEMBER = '{"name": "@app/one", "scripts": {"go": "rm -rf out", "safe": "ls"}}'
NPM = {"package.json": PACKAGE, "packages/one/package.json": MEMBER, "cli.sh": "sudo id\n"}

MAKEFILE = """
BUILD := build
DIRS = $(BUILD) dist
FLAGS ?= -rf
define WIPE
rm -rf $(1)
endef
.PHONY: all wipe
all: test
test: ; echo rm -rf build
# rm -rf build
wipe: prepare
\t@-rm -rf $(DIRS)
prepare:
\techo $$HOME
needs: prepare | wipe
called:
\t$(call WIPE,x)
given:
\trm $(FLAGS) x
unknown:
\t$(TOOL) x
%.gone: base.%
\trm -rf $*
sub:
\t$(MAKE) -C sub wipe
shell:
\techo $(shell sudo id)
long:
\trm \\
\t  -rf x
own: X = -rf
own:
\trm $(X) x
include extra.mk
"""
MAKE = {
    "Makefile": MAKEFILE,
    "extra.mk": "extra:\n\tsudo id\n",
    "sub/Makefile": "wipe:\n\trm -rf x\nsafe:\n\techo\n",
    "always.mk": "X := $(shell sudo id)\nall:\n\techo\n",
    "one.mk": ".ONESHELL:\nall:\n\tif true; then\n\trm -rf x\n\tfi\n",
}

JUSTFILE = """
set shell := ["bash", "-cu"]
target := "build"
alias w := wipe
# sudo id
default: test
test:
    echo sudo id
wipe dir=target:
    @rm -rf {{dir}}
needs: (wipe "x")
after: test && wipe
rm *args:
    rm {{args}} x
script:
    #!/usr/bin/env python3
    import os
    os.system("sudo id")
unknown:
    {{env_var("X")}} id
"""
JUST = {"justfile": JUSTFILE, "other.just": "go:\n  sudo id\n", "sub/x": ""}

TASKFILE = """
version: '3'
vars:
  DIR: build
includes:
  docs: ./docs/Taskfile.yml
tasks:
  default: [echo sudo id]
  wipe:
    cmds:
      - cmd: rm -rf {{.DIR}}
        silent: true
  needs:
    deps: [wipe]
    cmds:
      - task: safe
  safe:
    desc: "rm -rf build"
    cmds:
      - echo rm -rf build
  calls:
    cmds:
      - task: wipe
  pass: rm {{.CLI_ARGS}} x
  block: |
    cd x
    sudo id
"""
TASK = {"Taskfile.yml": TASKFILE, "docs/Taskfile.yml": "tasks:\n  wipe:\n    - sudo id\n  ok: ls\n"}

PYPROJECT = """
[project.scripts]
tool = "pkg.cli:main"
[tool.poetry.scripts]
other = "pkg.safe:main"
[tool.pdm.scripts]
wipe = "rm -rf build"
words = {cmd = ["rm", "-rf", "build"]}
shell = {shell = "cd x && sudo id"}
all = {composite = ["safe", "wipe"]}
safe = "echo rm -rf build"
[tool.hatch.envs.default.scripts]
wipe = "rm -rf build"
all = ["safe", "wipe"]
safe = "ls"
[tool.poe.tasks]
wipe = "rm -rf build"
seq = ["safe", "wipe"]
safe.cmd = "ls"
needs = {cmd = "ls", deps = ["wipe"]}
[tool.taskipy.tasks]
clean = "rm -rf build"
[tool.pixi.tasks]
wipe = {cmd = "rm -rf x", depends-on = ["safe"]}
safe = "ls"
[tool.rye.scripts]
wipe = {cmd = "rm -rf x"}
"""
PYTHON = {
    "pyproject.toml": PYPROJECT,
    "pkg/cli.py": "import os\ndef main(): os.system('sudo id')\n",
    "src/pkg/safe.py": "def main(): print('sudo id')\n",
    "src/pkg/__main__.py": "import subprocess\nsubprocess.run(['rm', '-rf', 'build'])\n",
    "Pipfile": "[scripts]\nwipe = 'rm -rf build'\nsafe = 'ls'\n",
}

TOX = """
[tox]
env_list = py311, lint
[testenv]
commands_pre = rm -rf .cov
commands =
    pytest {posargs:tests}
[testenv:wipe]
commands_pre =
commands =
    -rm \\
      -rf build
[testenv:lint]
commands_pre =
commands = ruff check
[testenv:pass]
commands_pre =
commands = rm {posargs} build
"""

NOXFILE = """
import nox
nox.options.sessions = ["lint"]
def helper(session):
    session.run("rm", "-rf", "build", external=True)
@nox.session
def lint(session):
    session.run("ruff", "check")
@nox.session(name="clean")
def _clean(session):
    helper(session)
"""
TASKS = """
from invoke import task
@task
def wipe(c):
    c.run("rm -rf build")
@task(pre=[wipe])
def build_docs(c):
    c.run("sphinx-build")
@task
def safe(c):
    c.run("echo sudo id")
"""
RAKEFILE = """
task default: [:test]
task :test do
  sh "echo sudo id"
end
task :wipe do
  sh "rm -rf build"
end
task :needs => [:wipe] do
end
namespace :db do
  task :drop do
    sh "sudo dropdb x"
  end
end
"""
GULPFILE = """
const { exec } = require('child_process');
function clean(done) { exec('rm -rf dist', done); }
function lint(done) { exec('eslint .', done); }
exports.clean = clean;
exports.default = lint;
"""
GRUNTFILE = """
const { execSync } = require('child_process');
module.exports = function (grunt) {
  grunt.registerTask('wipe', function () { execSync('rm -rf dist'); });
};
"""
CODE = {
    "noxfile.py": NOXFILE, "tasks.py": TASKS, "Rakefile": RAKEFILE, "gulpfile.js": GULPFILE,
    "Gruntfile.js": GRUNTFILE, "tox.ini": TOX,
}  # fmt: skip

COMPOSER = """{"scripts": {
  "wipe": "rm -rf var", "safe": ["echo sudo id", "App\\\\Tool::run"], "all": ["@safe", "@wipe"],
  "php": "@php -r \\"system('sudo id');\\""
}}"""
HOOKS = """
repos:
-   repo: https://example.org/x
    rev: v1
    hooks:
    -   id: black
-   repo: local
    hooks:
    -   id: wipe
        name: sudo id
        entry: rm -rf build
        language: system
    - id: args
      entry: sh
      args: [-c, "sudo id"]
    - id: safe
      entry: echo sudo id
"""
COMPOSE = """
services:
  app:
    image: x
    command: sh -c "rm -rf build"
    depends_on: [db]
  db:
    image: y
    command: ["ls"]
    volumes:
      - ./secrets:/s
  safe:
    image: z
"""
DENO = """{ // tasks
  "tasks": {"wipe": "rm -rf build", "safe": "deno run x.ts",
    "deps": {"command": "ls", "dependencies": ["wipe"]},}
}"""
GO = {
    "go.mod": "module example.org/app\n",
    "main.go": 'package main\nimport "os/exec"\nfunc main() { exec.Command("sudo", "id").Run() }\n',
    "cmd/safe/main.go": 'package main\nfunc main() { println("sudo id") }\n',
    "gen/gen.go": "package gen\n//go:generate rm -rf out\n",
}
VARIOUS = {
    "composer.json": COMPOSER,
    ".pre-commit-config.yaml": HOOKS,
    "compose.yaml": COMPOSE,
    "deno.json": DENO,
    ".cargo/config.toml": '[alias]\nxt = "run -p x"\nwipe = ["clean", "--force"]\n',
    "Procfile": "web: rm -rf build\nworker: echo sudo id\n",
    "mise.toml": '[tasks.wipe]\nrun = "rm -rf x"\n[tasks.needs]\ndepends = ["wipe"]\nrun = "ls"\n',
    "wipe.cmake": "execute_process(COMMAND rm -rf build\n  RESULT_VARIABLE x)\n",
    "safe.cmake": 'message("sudo id")\n',
    "bin/env": "#!/bin/sh\necho hello\n",
    "deploy": "#!/bin/sh\nsudo id\n",
    **GO,
}

CASES: list[tuple[dict[str, str], str, str]] = []


def rows(files: dict[str, str], denied: str, allowed: str) -> None:
    CASES.extend((files, line.strip(), "deny") for line in denied.splitlines() if line.strip())
    CASES.extend((files, line.strip(), "allow") for line in allowed.splitlines() if line.strip())


rows(
    NPM,
    """npm run wipe
    npm run-script wipe --silent
    yarn wipe
    yarn run wipe
    pnpm wipe
    pnpm run wipe
    bun run wipe
    npm run build
    npm run all
    npm run env
    npm run cc
    npm run git -- push --force
    npm run some
    yarn git push --force
    npm run say && npm run wipe
    npm install
    npm ci
    npm i
    yarn
    yarn install --frozen-lockfile
    npm version patch
    npm --prefix packages/one run go
    cd packages/one && npm run go
    npm run go -w @app/one
    npm run go --workspace=packages/one
    npm run go --workspaces
    npm -w one run go
    yarn workspace @app/one go
    yarn workspaces run go
    yarn workspaces foreach -A run go
    pnpm --filter @app/one go
    pnpm -r run go
    pnpm -C packages/one go
    yarn --cwd packages/one go
    run-s say wipe
    run-p clean:*
    npm-run-all lint --parallel 'clean:*'
    npx run-s wipe
    concurrently "npm:wipe" "ls"
    concurrently "rm -rf x"
    cross-env A=1 npm run wipe
    dotenv -e .x -- rm -rf build
    env-cmd -f x rm -rf build
    nodemon --exec "rm -rf build"
    nodemon -x 'npm run wipe'
    wait-on tcp:1 && npm run wipe
    turbo run go
    turbo go --filter=@app/one
    npx turbo run go
    lerna run go
    nx run one:go
    nx go one
    nx run-many -t go,safe
    npx app""",
    """npm run say
    npm test
    npm t
    npm run lint
    npm run missing
    npm run
    npm run un
    npm run may
    npm install left-pad
    npm install --ignore-scripts
    npm run safe -w @app/one
    npm run lint -- --fix
    npm run loop
    pnpm --filter other go
    turbo run safe
    npx eslint
    run-s say lint
    npm ls wipe
    yarn add wipe
    concurrently "npm:lint"
    echo npm run wipe""",
)
rows(
    MAKE,
    """make wipe
    make needs
    make -j4 wipe
    make DIRS=x wipe
    gmake wipe
    make called
    make given
    make x.gone
    make sub
    make -C sub wipe
    make --directory=sub wipe
    make shell
    make long
    make own
    make extra
    make -f always.mk
    make -f one.mk
    make unknown TOOL=sudo
    make test wipe""",
    """make
    make test
    make all
    make prepare
    make -n wipe
    make FLAGS=-i given
    make unknown
    make missing
    make -C sub safe
    make -C sub missing""",
)
rows(
    JUST,
    """just wipe
    just w
    just wipe src
    just needs
    just after
    just rm -rf
    just script
    just -f other.just go
    just test wipe
    just target=x wipe
    cd sub && just wipe""",
    """just
    just test
    just rm -i
    just unknown
    just --list wipe
    just missing""",
)
rows(
    TASK,
    """task wipe
    task needs
    task calls
    task pass -- -rf
    task block
    task docs:wipe
    task -t Taskfile.yml wipe
    task DIR=x wipe""",
    """task
    task safe
    task --list wipe
    task docs:ok
    task pass -- -i
    task missing""",
)
rows(
    PYTHON,
    """uv run tool
    poetry run tool
    pdm run tool
    pdm run wipe
    pdm run words
    pdm run shell
    pdm run all
    hatch run wipe
    hatch run all
    hatch run default:wipe
    poe wipe
    poe seq
    poe needs
    uv run poe wipe
    poetry run poe wipe
    task clean
    pixi run wipe
    rye run wipe
    pipenv run wipe
    python -m pkg
    python3 -m pkg.cli""",
    """poetry run other
    pdm run safe
    hatch run safe
    poe safe
    pixi run safe
    pipenv run safe
    uv run pytest
    python -m pkg.safe
    python -m pytest""",
)
rows(
    CODE,
    """tox
    tox -e wipe
    tox run -e lint,wipe
    tox -e pass -- -rf
    pipx run tox -e wipe
    python -m tox -e wipe
    nox -s clean
    nox --session clean
    inv wipe
    invoke build-docs
    rake wipe
    rake needs
    rake db:drop
    gulp clean
    npx gulp clean
    grunt wipe""",
    """tox -e lint
    tox -e pass -- -i
    tox list
    nox
    nox -s lint
    nox -l
    inv safe
    inv --list
    rake
    rake test
    gulp
    gulp lint""",
)
rows(
    VARIOUS,
    """composer wipe
    composer run-script wipe
    composer run all
    composer all
    composer php
    pre-commit run --all-files
    pre-commit run wipe --all-files
    pre-commit run args
    docker compose run app
    docker compose up
    docker compose up -d app
    docker-compose run --rm app
    docker compose run safe rm -rf x
    podman compose up app
    deno task wipe
    deno task deps
    foreman start
    foreman start web
    honcho start web
    mise run wipe
    mise run needs
    cmake -P wipe.cmake
    go run .
    go run main.go
    go run example.org/app
    go generate ./...
    go generate ./gen
    cargo wipe
    ./deploy
    bin/env rm -rf x
    /bin/sh -c 'rm -rf build'
    /usr/bin/env rm -rf build
    /usr/bin/env -S sudo id
    ./node_modules/.bin/cross-env A=1 rm -rf x
    $HOME/bin/timeout 5 sudo id""",
    """composer safe
    composer install
    pre-commit run safe
    docker compose run safe
    docker compose up safe
    docker compose ps app
    deno task safe
    foreman start worker
    cmake -P safe.cmake
    go run ./cmd/safe
    go generate ./cmd/...
    go build .
    cargo xt
    bin/env ls
    ./gradlew build
    ./node_modules/.bin/eslint .
    $HOME/bin/tool -rf x""",
)

NODE = {
    "package.json": """{"main": "lib/cli.js", "scripts": {
      "wipe": "rm -rf build", "prebuild": "rm -rf dist", "build": "tsc", "safe": "ls",
      "postinstall": "rm -rf cache"}}""",
    "lib/cli.js": "require('child_process').spawn('rm', ['-rf', 'out'])\n",
    "nodemon.json": '{"exec": "npm run wipe"}',
    "wipe.mjs": "await $`rm -rf build`\n",
    "turbo.json": '{"tasks": {"all": {"dependsOn": ["go"]}, "safe": {}}}',
    "packages/one/package.json": MEMBER,
    "apps/two/project.json": """{"name": "two", "targets": {
      "wipe": {"options": {"commands": ["ls", "rm -rf x"]}},
      "safe": {"options": {"command": "ls"}}}}""",
    "composer.json": '{"scripts": {"post-install-cmd": ["rm -rf var"], "prepare": "ls"}}',
}
OTHERS = {
    "Makefile": "include mk/*.mk\n-include .env\nsafe:\n\tls\n",
    "mk/wipe.mk": "wipe:\n\trm -rf x\n",
    "justfile": "mod infra\nx := `sudo id`\nsafe:\n  ls\n",
    "infra.just": "wipe:\n  rm -rf x\nsafe:\n  ls\n",
    "Taskfile.yml": "tasks:\n  sh:\n    env: {A: {sh: rm -rf x}}\n    cmds: [ls]\n  safe: ls\n",
    "noxfile.py": """import nox
@nox.session(python=["3.11", "3.12"])
def tests(session):
    session.run("rm", *session.posargs)
@nox.session
def wipe(session):
    session.run("rm", "-rf", "x")
""",
    "pyproject.toml": """[tool.poetry.scripts]
safe = "pkg.cli:safe"
wipe = "pkg.cli:wipe"
[tool.pdm.scripts]
all = {composite = ["ls", "gone"]}
gone = {shell = "rm -rf x"}
""",
    "pkg/cli.py": "import os\ndef safe(): pass\ndef wipe(): os.system('rm -rf x')\n",
    "dodo.py": """def task_wipe():
    return {'actions': ['rm -rf build']}
def task_safe():
    return {'actions': ['ls']}
""",
    "conftest.py": "import os\ndef helper(): os.system('sudo id')\n",
    "tests/conftest.py": "import os\ndef pytest_sessionstart(session): os.system('sudo id')\n",
    "unit/test_a.py": """import os
def test_wipe(): os.system('rm -rf x')
def test_safe(): pass
""",
    "Rakefile": "task(:safe) { }\n",
    "lib/tasks/x.rake": "task :wipe do\n  sh 'rm -rf x'\nend\n",
    ".cargo/config.toml": '[alias]\nxtask = "run --package xtask --"\n',
    "xtask/src/main.rs": 'fn main() { std::process::Command::new("sudo").arg("id").status(); }\n',
    "src/main.rs": "fn main() {}\n",
    "src/bin/wipe.rs": """use std::process::Command;
fn main() { Command::new("rm").args(["-rf", "x"]).status(); }
""",
    "one/a_test.go": """package one
import "os/exec"
func TestWipe(t *testing.T) { exec.Command("sudo", "id").Run() }
func TestSafe(t *testing.T) { }
""",
    "mise-tasks/db/reset": "#!/usr/bin/env bash\nsudo id\n",
    "CMakeLists.txt": """add_custom_target(wipe
  COMMAND rm -rf ${CMAKE_SOURCE_DIR}/x
  COMMENT "Removing")
add_custom_target(safe COMMAND ls)
""",
    "build.gradle": """tasks.register('wipe', Exec) {
    commandLine 'rm', '-rf', '.cache'
}
task safe(type: Exec) {
    commandLine 'ls'
}
""",
    ".pre-commit-config.yaml": """repos:
- repo: local
  hooks:
  - id: late
    entry: rm -rf x
    stages: [pre-push]
""",
    "script.py": "import os\nos.system('rm -rf x')\n",
}
rows(
    NODE,
    """node --run wipe
    node .
    nr wipe
    npx nodemon
    nodemon
    npx start-server-and-test safe http://localhost:1 wipe
    npx zx wipe.mjs
    turbo all
    pnpm turbo all
    nx run-many -t wipe
    nx wipe two
    npm run build
    npm install
    composer install""",
    """node --run safe
    nr safe
    npx start-server-and-test safe http://localhost:1
    npm run build --ignore-scripts
    npm install --ignore-scripts
    npm run none*
    turbo safe
    nx safe two
    composer install --no-scripts
    composer validate
    pnpm safe""",
)
rows(
    OTHERS,
    """make wipe
    just infra wipe
    just infra::wipe
    just safe
    task sh
    nox -s tests -- -rf x
    nox -s wipe
    poetry run wipe
    pdm all
    doit wipe
    doit
    pytest tests
    pytest unit/test_a.py
    python -m pytest unit/test_a.py::test_wipe -x
    rake wipe
    cargo xtask x
    cargo run --bin wipe
    go test ./one
    go test ./one -run TestWipe
    mise run db:reset
    mise r db:reset
    cmake --build out --target wipe
    cmake -DA=1 -S . -B out && cmake --build out -t wipe
    gradle wipe
    pre-commit run --hook-stage pre-push
    uv run script.py --x""",
    """task safe
    nox -s tests-3.12
    nox -s tests-3.12 -- -i x
    poetry run safe
    doit safe
    pytest
    pytest unit/test_a.py::test_safe
    rake safe
    cargo run
    cargo build --release
    go test ./one -run TestSafe
    go test ./...
    cmake --build out
    cmake --build out --target safe
    pre-commit run -a""",
)

rows(
    {
        "package.json": """{"scripts": {"wipe": "wireit", "safe": "wireit", "one": "wireit"},
            "wireit": {"wipe": {"command": "rm -rf dist"}, "safe": {"command": "tsc"},
                       "one": {"dependencies": ["wipe"]}},
            "lint-staged": {"*.js": ["eslint --fix", "sudo id"]}}""",
        "Makefile.toml": '[tasks.wipe]\ncommand = "rm"\nargs = ["-rf", "x"]\n[tasks.safe]\n'
        'command = "ls"\n[tasks.deep]\ndependencies = ["wipe"]\n',
        "lefthook.yml": "pre-push:\n  commands:\n    a:\n      run: rm -rf x\n"
        "pre-commit:\n  jobs:\n    - run: npx eslint .\ncommit-msg:\n  jobs:\n    - run: sudo id\n",
        ".air.toml": '[build]\npre_cmd = ["sudo id"]\ncmd = "go build"\n',
        "dvc.yaml": "stages:\n  wipe:\n    cmd: rm -rf x\n  safe:\n    cmd: ls\n",
        ".goreleaser.yaml": "before:\n  hooks:\n    - sudo id\n",
        "magefile.go": '//go:build mage\n\npackage main\n\nimport "github.com/magefile/mage/sh"\n\n'
        'func Wipe() error {\n\treturn sh.Run("rm", "-rf", "x")\n}\n\n'
        'func Safe() error {\n\treturn sh.Run("ls")\n}\n',
        "fastlane/Fastfile": "lane :wipe do\n  sh 'rm -rf x'\nend\nlane :safe do\n  sh 'ls'\nend\n",
        "Snakefile": "rule all:\n    input: 'a'\nrule wipe:\n    shell:\n        'rm -rf x'\n"
        'rule long:\n    shell:\n        """\n        mkdir x\n        rm -rf x\n        """\n',
        "wipe.yml": "- hosts: a\n  tasks:\n    - shell: |\n        cd /srv\n        rm -rf x\n",
        "safe.yml": "- hosts: a\n  tasks:\n    - ansible.builtin.command: ls\n",
        "main.tf": 'resource "null_resource" "a" {\n  provisioner "local-exec" {\n'
        '    command = "sudo id"\n  }\n}\n',
        "setup.py": "import os\nos.system('sudo id')\n",
        "webpack.config.js": "require('child_process').execSync('sudo id');\n",
        "vite.config.ts": "export default { build: { outDir: 'rm -rf x' } };\n",
        "wipe.js": "require('child_process').execSync('rm -rf x');\n",
    },
    """npm run wipe
    npm run one
    npx lint-staged
    makers wipe
    cargo make deep
    lefthook run pre-push
    npx lefthook run commit-msg
    air
    dvc repro
    dvc repro wipe
    goreleaser release --clean
    mage wipe
    bundle exec fastlane wipe
    snakemake -j1 wipe
    snakemake long
    ansible-playbook -i hosts wipe.yml
    terraform apply -auto-approve
    npx webpack --mode production
    npx mocha --require ./wipe.js
    npx vite build --config wipe.js
    pip install -e .[dev]""",
    """npm run safe
    makers safe
    cargo make safe
    lefthook run pre-commit
    lefthook install
    dvc repro safe
    dvc dag
    goreleaser check
    mage safe
    fastlane safe
    snakemake
    snakemake -n wipe
    ansible-playbook safe.yml
    ansible-playbook --syntax-check wipe.yml
    ansible-playbook --check wipe.yml
    terraform plan
    npx vite build
    pip install -r requirements.txt""",
)

RULES = """{"permissions": {"deny": ["Bash(rm -rf *)", "Bash(sudo *)", "Bash(git push --force *)",
"Bash(cargo clean --force *)", "Read(.env)"]}}"""


def decide(folder: Path, files: dict[str, str], command: str) -> str:
    """The decision on a command, typed in a project of these files."""
    project = folder / "project"
    project.mkdir()
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (folder / "rules.json").write_text(RULES)
    rules = load_file(folder / "rules.json", project=project, home=folder)
    subject = Subject(
        "shell", command, cwd=str(project), project=str(project), home=str(folder),
        env={"HOME": str(folder)}, surface="agent_shell",
    )  # fmt: skip
    return evaluate(subject, rules, read_text=script_texts(str(project))).decision.word


@pytest.mark.parametrize(("files", "command", "expected"), CASES, ids=[c[1] for c in CASES])
def test_a_target_counts_as_what_it_does_and_no_other_target_does(
    tmp_path: Path, files: dict[str, str], command: str, expected: str
) -> None:
    assert decide(tmp_path, files, command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("""printf '{"scripts":{"x":"rm -rf y","z":"ls"}}' > package.json && npm run x""", "deny"),
        ("""printf '{"scripts":{"x":"rm -rf y","z":"ls"}}' > package.json && npm run z""", "allow"),
        ("printf 'x:\\n\\trm -rf y\\nz:\\n\\tls\\n' > Makefile && make x", "deny"),
        ("printf 'x:\\n\\trm -rf y\\nz:\\n\\tls\\n' > Makefile && make z", "allow"),
        ("""echo '{"scripts":{"x":"'"$(curl x)"' y"}}' > package.json; npm run x""", "deny"),
    ],
)
def test_in_a_file_that_the_command_makes_even_the_unknown_counts(
    tmp_path: Path, command: str, expected: str
) -> None:
    assert decide(tmp_path, {}, command) == expected


HOSTILE = [
    *("", "{", '{"scripts": [', '"' * 9999, "[" * 9999, "a:\n" * 999, "- " * 999, "\0", "{{" * 999),
    *('{"scripts": {"x": {"x": 1}}}', "x = $(x)\nx: x\n\t$(x)$(x)\n", "x: x\n  {{x}}\n"),
    *("%: %.x\n\tls\n", "a = $(b)\nb = $(a)\nx: $(a)\n\t$(a)\n", "import 'justfile'\nx: x\n ls\n"),
    *("tasks: {x: {deps: [x], cmds: [{task: x}]}}", "includes: {x: .}\n", "[x]\na\n b\n"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_file_that_holds_anything_is_no_error_and_no_alarm(tmp_path: Path, text: str) -> None:
    names = {name for files, _, _ in CASES for name in files}
    runs = "npm run x; make x; just x; task x; tox -e x; nox -s x; rake x; composer x; mise run x"
    runs += "; pre-commit run x; docker compose up x; deno task x; foreman start; cargo x; go run ."
    assert decide(tmp_path, dict.fromkeys(names, text), runs) == "allow"


def test_a_services_environment_counts_only_where_the_service_is_run(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text("services:\n  app:\n    image: x\n    env_file: .env\n")
    rules = tmp_path / "rules.json"
    rules.write_text('{"permissions": {"deny": ["Read(.env)"]}}')
    denied = {}
    for code in ("up -d", "up --build app", "restart app", "run --rm app env", "run app"):
        subject = Subject("shell", f"docker compose {code}", str(tmp_path), str(tmp_path))
        found = evaluate(
            subject,
            load_file(rules, project=tmp_path, home=tmp_path),
            read_text=script_texts(str(tmp_path)),
        )
        denied[code] = not found.allowed
    assert [code for code, is_denied in denied.items() if is_denied] == [
        "run --rm app env",
        "run app",
    ]
