"""FILE_CONTENT and FILE_CONTENT_PATH are exact in every language, whatever the file holds."""

from __future__ import annotations

import pytest

from runtimes.registry import LANGUAGES, language
from tests.samples import read_samples

SHOWS = read_samples("shows")

CONTENTS = {
    "plain": "one\ntwo é ✓\n\n".encode(),
    "empty": b"",
    "quotes": b"\"'`$HOME \\n %s #{x} ${y}\n",
    "large": b"".join(b"%07d abcdefghijklmnopqrstuvwxyz\n" % n for n in range(90_000)),
}

each_language = pytest.mark.parametrize("name", [row.name for row in LANGUAGES])


@each_language
@pytest.mark.parametrize("kind", CONTENTS)
def test_a_bound_file_is_there_as_text(name, kind, runners, tmp_path):
    file = tmp_path / "bound file's.txt"
    file.write_bytes(CONTENTS[kind])
    for run in runners(language(name)):
        outcome = run(SHOWS[name], bind_file=file)
        assert (run.name, outcome.stderr) == (run.name, "")
        path, _, content = outcome.stdout.partition("\n")
        assert (run.name, path) == (run.name, str(file))
        assert content == CONTENTS[kind].decode()


@pytest.mark.parametrize("name", [row.name for row in LANGUAGES if row.name != "shell"])
def test_invalid_utf8_in_a_bound_file_is_replaced(name, runners, tmp_path):
    file = tmp_path / "bound.txt"
    file.write_bytes("café ".encode() + b"\xff and \xfe end\n")
    for run in runners(language(name)):
        outcome = run(SHOWS[name], bind_file=file)
        content = outcome.stdout.partition("\n")[2]
        assert (run.name, content) == (run.name, "café \ufffd and \ufffd end\n"), outcome.stderr


def test_the_shell_keeps_invalid_bytes(runners, tmp_path):
    file = tmp_path / "bound.txt"
    file.write_bytes(b"\xff\0\xfe\n")
    for run in runners(language("shell")):
        outcome = run('printf %s "$FILE_CONTENT" | od -An -tx1', bind_file=file)
        assert (run.name, outcome.stdout.split()) == (run.name, ["ff", "fe", "0a"])
        assert outcome.stderr == ""


@each_language
def test_a_script_in_place_can_have_a_bound_file(name, runners, tmp_path):
    # javac demands that the file of a public class is called after it.
    script = tmp_path / "project" / f"Shown{language(name).extensions[0]}"
    script.write_text(SHOWS[name])
    file = tmp_path / "bound.txt"
    file.write_text("text\n")
    for run in runners(language(name)):
        outcome = run(script=script, bind_file=file)
        assert (run.name, outcome.stdout) == (run.name, f"{file}\ntext\n"), outcome.stderr


# Statements without a main function, with the names as each language's idiom has them.
BARE = read_samples("shows_bare")


@pytest.mark.parametrize("name", BARE)
def test_bare_statements_see_a_bound_file(name, runners, tmp_path):
    file = tmp_path / "bound.txt"
    file.write_text("dév\n")
    for run in runners(language(name)):
        outcome = run(BARE[name], bind_file=file)
        assert (run.name, outcome.stdout) == (run.name, f"4 {file}"), outcome.stderr


# First lines that must stay first.
STRICT = {
    "python": (
        "#!/usr/bin/env python3\nfrom __future__ import annotations\nprint(len(FILE_CONTENT))"
    ),
    "javascript": (
        '"use strict";\ntry { undeclared = 1; } catch { console.log(FILE_CONTENT.length); }'
    ),
    "perl": "#!/usr/bin/perl -w\nuse strict;\nprint length($FILE_CONTENT), qq(\\n);",
    "rust": '#![allow(dead_code)]\nfn main() { println!("{}", FILE_CONTENT.len()); }',
    "java": "package a.b;\nclass M { public static void main(String[] a) { "
    "System.out.println(FILE_CONTENT.length()); } }",
    "php": "<?php\ndeclare(strict_types=1);\nnamespace A;\necho strlen(FILE_CONTENT), PHP_EOL;",
    "shell": 'set -euo pipefail\necho "${#FILE_CONTENT}"',
    "ruby": "# frozen_string_literal: true\nputs FILE_CONTENT.length",
}


@pytest.mark.parametrize("name", STRICT)
def test_binding_leaves_the_first_lines_their_meaning(name, runners, tmp_path):
    file = tmp_path / "bound.txt"
    file.write_text("text\n")
    for run in runners(language(name)):
        if name == "shell" and run.name == "sh":
            continue  # pipefail is bash's
        outcome = run(STRICT[name], bind_file=file)
        assert (run.name, outcome.stdout) == (run.name, "5\n"), outcome.stderr


def test_a_rust_program_may_use_the_name_file_content_for_itself(runners, tmp_path):
    file = tmp_path / "bound.txt"
    file.write_text("a b\n")
    code = (
        "fn words(file_content: &str) -> usize { file_content.split_whitespace().count() }\n"
        "fn main() {\n    let file_content = FILE_CONTENT.trim();\n"
        '    println!("{} {}", words(file_content), words(&FILE_CONTENT));\n}\n'
    )
    for run in runners(language("rust")):
        assert run(code, bind_file=file).stdout == "2 2\n"
