"""A script runs where it lies: beside its siblings, under its own name, and unwrapped."""

from __future__ import annotations

import pytest

from runtimes.registry import LANGUAGES, language
from tests.samples import read_samples

SCRIPTS = read_samples("scripts")


@pytest.mark.parametrize("name", [row.name for row in LANGUAGES])
def test_a_script_runs_in_place_beside_its_siblings(name, runners, tmp_path):
    project = tmp_path / "project"
    for file, text in SCRIPTS[name].items():
        (project / file).parent.mkdir(exist_ok=True)
        (project / file).write_text(text)
    before = sorted(project.rglob("*"))
    for run in runners(language(name)):
        outcome = run(script=project / next(iter(SCRIPTS[name])))
        assert (run.name, outcome.stdout.rstrip()) == (run.name, "sibling says 42"), outcome.stderr
    assert sorted(project.rglob("*")) == before, "a run must leave nothing in the project"


# Code that is no file of its own finds what lies in the working directory.
FROM_PROJECT = {
    "python": ({"other.py": "SAYS = 42"}, "import other\nprint(other.SAYS)"),
    "ruby": ({"lib/other.rb": "SAYS = 42"}, 'require "other"\nputs SAYS'),
    "perl": (
        {"lib/Other.pm": "package Other; our $says = 42; 1;"},
        "use Other;\nprint $Other::says",
    ),
    "lua": ({"other.lua": "return 42"}, 'print((require("other")))'),
    "shell": ({"other.sh": "says=42"}, ". ./other.sh; echo $says"),
    "r": ({"other.R": "says <- 42"}, 'source("other.R"); cat(says)'),
    "php": ({"other.php": "<?php const SAYS = 42;"}, 'require getcwd() . "/other.php"; echo SAYS;'),
    "go": (
        {
            "go.mod": "module m.test/p\n\ngo 1.19\n",
            "other/o.go": "package other\n\nconst Says = 42\n",
        },
        'import "m.test/p/other"\nfmt.Println(other.Says)',
    ),
    "java": (
        {"Other.java": "class Other { static int SAYS = 42; }"},
        "System.out.println(Other.SAYS);",
    ),
    "javascript": (
        {"node_modules/other/index.js": "module.exports = 42;"},
        'import other from "other";\nconsole.log(other);',
    ),
    "typescript": (
        {"node_modules/other/index.js": "module.exports = 42;"},
        'import other from "other";\nconsole.log(other as number);',
    ),
}


@pytest.mark.parametrize("name", FROM_PROJECT)
def test_code_finds_the_modules_of_the_project(name, runners, tmp_path):
    files, code = FROM_PROJECT[name]
    for file, text in files.items():
        path = tmp_path / "project" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for run in runners(language(name)):
        outcome = run(code)
        assert (run.name, outcome.stdout.strip()) == (run.name, "42"), outcome.stderr


def test_elixir_code_finds_the_applications_of_a_mix_project(runners, tmp_path):
    project = tmp_path / "project"
    (project / "mix.exs").write_text("# a Mix project\n")
    ebin = project / "_build/dev/lib/other/ebin"
    ebin.mkdir(parents=True)
    for run in runners(language("elixir")):
        compiled = run(
            'other = "defmodule Other do def says do 42 end end"\n'
            "[{module, beam}] = Code.compile_string(other)\n"
            f'File.write!("{ebin}/#{{module}}.beam", beam)'
        )
        assert compiled.stderr == ""
        assert run("IO.puts(Other.says())").stdout == "42\n"


@pytest.mark.parametrize(
    "code",
    [
        'const fs = require("fs"); console.log(typeof fs.readFileSync);',
        'import fs from "fs"; console.log(typeof fs.readFileSync);',
        'import fs from "fs"; const os = require("os"); console.log(typeof os.cpus);',
        'const os = require("os"); console.log(typeof (await os.cpus));',
    ],
    ids=["require", "import", "both", "top-level await"],
)
def test_javascript_may_import_and_require(code, runners):
    for run in runners(language("javascript")):
        outcome = run(code)
        assert (run.name, outcome.stdout) == (run.name, "function\n"), outcome.stderr
