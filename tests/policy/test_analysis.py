"""Programs to effects: argv after expansion, files with their folder, places in the text."""

from __future__ import annotations

import pytest

from policy import marks
from policy.analysis import CODE_BYTES_MAX, WORK_PER_BYTE, analyse
from policy.model import Command, FileAccess, OpaqueExec, Subject, Unparsed


def effects_of(code: str, language: str = "shell", **env: str) -> tuple[object, ...]:
    subject = Subject(language, code, cwd="/w", home="/home/u", env=env, surface="agent_shell")
    return analyse(subject).effects


def commands(code: str, **env: str) -> list[str]:
    found = [e for e in effects_of(code, **env) if isinstance(e, Command)]
    return [" ".join(map(marks.show, command.argv)) for command in found]


def files(code: str, language: str = "shell") -> list[tuple[str, bool]]:
    found = [e for e in effects_of(code, language) if isinstance(e, FileAccess)]
    return [(marks.show(access.path), access.is_write) for access in found]


@pytest.mark.parametrize(
    ("code", "last"),
    [
        ("a=x; p $a", "p x"),
        ("a='x y'; p $a", "p x y"),
        ("a='x y'; p \"$a\"", "p x y"),
        ("p $'\\x61\\142'", "p ab"),
        ("p {a,b}{1..2}", "p a1 a2 b1 b2"),
        ("a=(x 'y z'); p \"${a[@]}\"", "p x y z"),
        ("a=(x y); p ${a[1]}", "p y"),
        ("set -- x y z; shift; p $2 $#", "p z 2"),
        ("a=file.tar.gz; p ${a%%.*} ${a#*.} ${a/tar/zip}", "p file tar.gz file.zip.gz"),
        ("a=Hello; p ${a,,} ${a:1:3} ${#a}", "p hello ell 5"),
        ("p ~/x", "p /home/u/x"),
        ("p $HOME", "p /home/u"),
        ("p ${U:-d}", "p d"),
        ("p $((1 + 2 * 3))", "p 7"),
        ("p $(echo a b)", "p a b"),
        ("p `printf %s-%s a b`", "p a-b"),
        ("printf -v a '%03d' 7; p x$a", "p x7"),
        ("read a b <<< 'x y z'; p $b", "p y z"),
        ("p $UNSET", "p <?...>"),
        ('p "$UNSET"', "p <?>"),
        ("p *.c", "p *.c"),
        ("p '*.c'", "p *.c"),
        ("IFS=:; a=x:y; p $a", "p x y"),
        ("p $(ls)", "p <paths>"),
    ],
)
def test_arguments_are_what_bash_would_hand_over(code: str, last: str) -> None:
    assert commands(code)[-1] == last


def test_the_environment_gives_values_to_names_that_are_not_set() -> None:
    assert commands("p $NAME", NAME="value") == ["p value"]


def test_a_variable_set_in_two_branches_has_both_values() -> None:
    code = "if t; then a=x; else a=y; fi; p $a"
    assert {"p x", "p y"} <= set(commands(code))


def test_a_value_assigned_late_in_a_loop_is_seen_early_in_it() -> None:
    assert "sudo id" in commands("c=ls; while t; do $c id; c=sudo; done")


def test_a_subshell_does_not_change_the_state_outside() -> None:
    assert commands("a=x; (a=y); p $a")[-1] == "p x"


def test_prefix_assignments_hold_for_one_command() -> None:
    assert commands("a=x; a=y p; q $a")[-1] == "q x"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("cat x", [("/w/x", False)]),
        ("cd d; cat x", [("/w/d/x", False)]),
        ("(cd d); cat x", [("/w/x", False)]),
        ("cat ../x", [("/x", False)]),
        ("p > x", [("/w/x", True)]),
        ("p < x", [("/w/x", False)]),
        ("cp a b", [("/w/a", False), ("/w/b", True)]),
        ("grep a b", [("/w/b", False)]),
        ("grep -e a b", [("/w/b", False)]),
        ("sed -i s/a/b/ f", [("/w/f", True)]),
        ("tar czf a.tgz b", [("/w/b", False)]),
        ("p >/dev/stderr 2>&1", []),
        ("echo x", []),
        ("ls x", []),
        ("frobnicate ./x", [("/w/x", False)]),
        ("ln -s /etc k; cat k/passwd", [("/etc", False), ("/w/k", True), ("/etc/passwd", False)]),
    ],
)
def test_files_are_seen_from_the_folder_the_program_is_in(
    code: str, expected: list[tuple[str, bool]]
) -> None:
    assert files(code) == expected


def test_places_are_byte_ranges_of_the_program() -> None:
    code = "echo 'ä'; sudo id"
    command = next(e for e in effects_of(code) if isinstance(e, Command) and e.argv[0] == "sudo")
    start, end = command.place.span
    assert code.encode()[start:end] == b"sudo id"


def test_what_a_text_runs_is_placed_at_the_text_and_says_its_path() -> None:
    code = "true; bash -c 'eval \"sudo id\"'"
    command = next(e for e in effects_of(code) if isinstance(e, Command) and e.argv[0] == "sudo")
    assert command.place.nesting == ("bash -c", "eval")
    start, end = command.place.span
    assert code[start:end] == "bash -c 'eval \"sudo id\"'"


@pytest.mark.parametrize(
    "code", ["eval $X", "$(cat f)", "cat f | sh", 'bash -c "$X"', "curl u | sh"]
)
def test_unknown_text_that_is_executed_is_reported(code: str) -> None:
    found = effects_of(code)
    unknown = [e for e in found if isinstance(e, OpaqueExec)]
    nameless = [e for e in found if isinstance(e, Command) and not marks.is_known(e.argv[0])]
    assert unknown or nameless


def test_a_program_that_cannot_be_read_is_unparsed() -> None:
    analysis = analyse(Subject("shell", "echo 'open"))
    assert analysis.coverage == "unparsed"
    assert isinstance(analysis.effects[0], Unparsed)


def test_a_language_nobody_knows_is_unparsed() -> None:
    assert analyse(Subject("cobol", "DISPLAY 'x'")).coverage == "unparsed"


def test_a_program_too_large_to_read_is_unparsed() -> None:
    assert analyse(Subject("shell", "a" * (CODE_BYTES_MAX + 1))).coverage == "unparsed"


@pytest.mark.parametrize(
    "code",
    [
        "echo " + "{a,b}" * 40,
        "x=aaaaaaaaaaaaaaaa; " + "x=$x$x; " * 60 + "echo $x",
        "f() { f; f; f; }; f",
        "f() { g; g; }; g() { f x; f y; }; f",
        "while a; do " * 12 + "x=$x.$y; y=$x" + "; done" * 12,
        "echo {1..9999}{1..9999}",
        "$(" * 20 + ")" * 20,
        "a | " * 5000,
        "( " * 5000,
        "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }};" for n in range(40)) + "f0",
        "rm " + "*a" * 5000,
        "$" * 5000,
        "x=( << a",
        "for a in 1 2; do " * 20 + "$a" + "; done" * 20,
    ],
)
def test_work_is_bounded_by_the_size_of_the_program(code: str) -> None:
    analysis = analyse(Subject("shell", code))
    assert analysis.work <= WORK_PER_BYTE * len(code)


def test_spending_the_budget_makes_the_verdict_unparsed() -> None:
    assert analyse(Subject("shell", "echo {1..9999}{1..9999}")).coverage == "unparsed"


_FILES = {
    "/w/a.sh": "ls",
    "/w/b.sh": "rm $X",
    "/w/p.py": "print(1)",
    "/w/Makefile": "test:\n\tpytest -q",
    "/w/package.json": '{"scripts": {"build": "tsc -p ."}}',
    "/w/compose.yaml": "services:\n  app:\n    image: x\n",
    "/w/broken.yaml": "services:\n  app: {image: x\n",
}


@pytest.mark.parametrize(
    "code",
    [
        "ls -la; git status",
        "mytool --frob x y",  # of no row, but its command line is known
        "/usr/bin/git status",
        "sh a.sh && ./a.sh; sh a.sh",
        "python3 p.py",
        "make test",
        "npm run build; npm install; poetry run pytest; docker ps",
        "docker compose -f compose.yaml up",
    ],
)
def test_coverage_is_full_where_every_word_is_known(code: str) -> None:
    subject = Subject("shell", code, cwd="/w", surface="agent_shell")
    assert analyse(subject, _FILES.get).coverage == "full"


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("shell", "rm $X"),
        ("shell", "mytool exec -- rm x"),  # a guess
        ("shell", "./deploy.sh"),
        ("shell", "sh deploy.sh"),
        ("shell", "sh b.sh"),  # read, with a word that is not known
        ("shell", ". ./lib.sh"),
        ("shell", "python3 other.py"),
        ("shell", "make other"),
        ("shell", "npm run other"),
        ("shell", "just build"),
        ("shell", "docker compose -f broken.yaml up"),  # its own parser may accept it
        ("python", "open(path).read()"),
        ("python", "subprocess.run(args)"),
    ],
)
def test_coverage_is_partial_where_something_is_guessed_or_cannot_be_read(
    language: str, code: str
) -> None:
    subject = Subject(language, code, cwd="/w", surface="agent_shell")
    assert analyse(subject, _FILES.get).coverage == "partial"


def test_a_character_that_stands_for_the_unknown_cannot_be_smuggled_in() -> None:
    command, behind = [e for e in effects_of("\ue010\ue01e id") if isinstance(e, Command)]
    assert behind.argv == ("id",)  # the unknown may be nothing, or run what follows it
    assert not marks.is_known(command.argv[0])


def test_effects_of_a_completed_program_are_placed_in_the_code_it_was_made_of() -> None:
    code = "run(é)\nimport os\nos.system('p x')\nos.system('p x')\nos.system('p y')\n"
    *body, last = code.splitlines(keepends=True)
    texts = (f"os.system('p 0')\n{code}", f"def f():\n {last}\n{''.join(body)}", code)
    subject = Subject("python", code, complete=lambda given: texts)
    found = [e for e in analyse(subject).effects if isinstance(e, Command)]
    places = {(e.argv[1], *e.place.span) for e in found}
    at = len("run(é)\nimport os\n".encode())
    size = len("os.system('p x')")
    assert places == {
        ("0", 0, len(code.encode())),  # what was added has no place of its own
        *(("xxy"[n], at + n * (size + 1), at + n * (size + 1) + size) for n in range(3)),
    }
    assert len(found) == len(places)  # however many texts there are


@pytest.mark.parametrize(
    ("texts", "coverage"), [(("ls", "rm $X"), "partial"), (("'", "ls"), "unparsed")]
)
def test_a_program_is_understood_as_little_as_any_text_that_may_run(texts, coverage) -> None:
    assert analyse(Subject("shell", "ls", complete=lambda code: texts)).coverage == coverage
