"""A kept program is one that compiling anew would give; whatever might differ is compiled anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import runtimes
from executor import open_engine
from executor.model import Request, Status
from tests.needs import needs

pytestmark = pytest.mark.tier_a

# What a compiler reads is the same for everyone; to whom it shows what is kept, is not: those of
# its tests are run again as other users.

PROGRAMS = {
    "c": 'printf("%d\\n", 6 * 7);',
    "cpp": "cout << 6 * 7 << endl;",
    "go": "fmt.Println(6 * 7)",
    "rust": 'println!("{}", 6 * 7);',
    "java": "System.out.println(6 * 7);",
    "csharp": "Console.WriteLine(6 * 7);",
}
READS_ARGUMENT = "#include <stdio.h>\nint main(int c, char **v) { puts(v[1]); return 3; }\n"


@pytest.mark.parametrize(
    "language",
    [pytest.param(one, marks=() if one == "c" else pytest.mark.once) for one in PROGRAMS],
)
async def test_the_second_run_is_from_what_the_first_left(run, language):
    code = PROGRAMS[language] + "\n// kept\n"
    first = await run(language, code)
    second = await run(language, code)
    assert (first.stdout.text, second.stdout.text) == ("42\n", "42\n")
    assert (first.compiled, second.compiled) == ("now", "kept")


async def test_arguments_stdin_and_exit_codes_are_each_runs_own(run):
    results = [await run("c", READS_ARGUMENT, args=(word,)) for word in ("one", "two")]
    assert [r.stdout.text for r in results] == ["one\n", "two\n"]
    assert [r.exit_code for r in results] == [3, 3]
    assert results[1].compiled == "kept"


@pytest.mark.once
async def test_warnings_are_told_every_time(run):
    code = '#warning "mind the gap"\nint main(void) { return 0; }\n'
    results = [await run("c", code) for _ in range(2)]
    assert results[1].compiled == "kept"
    assert "mind the gap" in results[0].stderr.text
    assert results[0].stderr == results[1].stderr


@pytest.mark.once
async def test_a_program_that_does_not_compile_is_told_as_ever(run):
    for _ in range(2):
        result = await run("c", "int main(void) { return nothing; }\n")
        assert (result.status, result.phase) == (Status.NONZERO_EXIT, "compile")
        assert "nothing" in result.stderr.text
        assert (result.profile, result.artifacts, result.changed_files) == ("analyze", (), ())


async def test_a_program_that_changes_its_own_binary_harms_nobody(run):
    code = (
        "#include <stdio.h>\n#include <unistd.h>\n#include <string.h>\n"
        "int main(int c, char **v) {\n"
        '  puts("honest");\n'
        "  remove(v[0]);\n"
        '  FILE *f = fopen(v[0], "w");\n'
        '  if (f) { fputs("#!/bin/sh\\necho poisoned\\n", f); fclose(f); }\n'
        "  return 0;\n}\n"
    )
    results = [await run("c", code) for _ in range(3)]
    assert [r.stdout.text for r in results] == ["honest\n"] * 3
    assert results[2].compiled == "kept"


@pytest.mark.once
@pytest.mark.parametrize(
    "include",
    ['#include "{}"', "#include <{}>", '#define WHERE "{}"\n#include WHERE'],
    ids=["quoted", "angled", "computed"],
)
async def test_a_header_of_the_project_is_read_anew(run, project: Path, include):
    header = project / "answer.h"
    code = include.format(header) + "\n#include <stdio.h>\n"
    code += 'int main(void) { printf("%d\\n", ANSWER); return 0; }\n'
    for answer in (41, 42):
        header.write_text(f"#define ANSWER {answer}\n")
        result = await run("c", code)
        assert (result.stdout.text, result.compiled) == (f"{answer}\n", None)


@pytest.mark.once
async def test_a_script_is_kept_by_what_it_says_not_by_its_name(run, project: Path):
    script = project / "sub" / "say.c"
    script.parent.mkdir()
    seen = []
    for word in ("one", "one", "two"):
        script.write_text(f'#include <stdio.h>\nint main(void) {{ puts("{word}"); return 0; }}\n')
        result = await run("c", path=str(script), cwd=str(script.parent))
        seen.append((result.stdout.text, result.compiled))
    assert seen == [("one\n", "now"), ("one\n", "kept"), ("two\n", "now")]


@pytest.mark.once
async def test_a_scripts_own_headers_are_read_anew(run, project: Path):
    script, header = project / "say.c", project / "say.h"
    script.write_text('#include <stdio.h>\n#include "say.h"\nint main() { puts(WORD); }\n')
    for word in ("one", "two"):
        header.write_text(f'#define WORD "{word}"\n')
        result = await run("c", path=str(script))
        assert (result.stdout.text, result.compiled) == (f"{word}\n", None)


@pytest.mark.once
async def test_a_class_of_the_project_is_compiled_anew(run, project: Path):
    folder = project / "words"
    folder.mkdir()
    code = "System.out.println(words.Word.TEXT);"
    for word in ("one", "two"):
        source = (
            f'package words; public class Word {{ public static final String TEXT = "{word}"; }}'
        )
        (folder / "Word.java").write_text(source)
        result = await run("java", code)
        assert (result.stdout.text, result.compiled) == (f"{word}\n", None)


@pytest.mark.once
async def test_a_go_module_decides_for_itself(run, project: Path):
    (project / "go.mod").write_text("module example.org/m\n\ngo 1.18\n")
    assert (await run("go", "fmt.Println(1)")).compiled is None


@pytest.mark.once
@pytest.mark.parametrize(
    "code",
    [
        'puts(__DATE__ " " __TIME__);',
        '#if __has_include("x.h")\n#endif\nputs("x");',
        'asm(".incbin \\"/etc/hostname\\"");',
        'puts(__DA\\\nTE__ " " __TI\\\nME__);',
        "#define P(a, b) a ## b\nputs(P(__DA, TE__));",
        "#include <sys/cdefs.h>\nputs(__CONCAT(__TI, ME__));",
    ],
)
async def test_what_may_reach_further_is_not_kept(run, code):
    await run("c", code)
    assert (await run("c", code)).compiled is None


@pytest.mark.once
async def test_the_requests_own_variables_never_meet_the_compiler_of_a_kept_program(run):
    code = PROGRAMS["c"] + "// variables"
    assert (await run("c", code, env={"CPATH": "/nowhere"})).compiled is None
    assert (await run("c", code)).compiled == "now"


async def test_the_compiler_of_a_kept_program_sees_nothing_of_the_project(
    run, project: Path, monkeypatch
):
    (project / "secret.h").write_text("#define SECRET 1\n")
    here = os.fspath(project)
    # As if no pattern found it: the cell itself has to hold.
    monkeypatch.setattr(runtimes, "reaches", lambda inputs, text: False)
    code = f'#inc\\\nlude "{here}/secret.h"\nint main(void) {{ return SECRET; }}\n'
    result = await run("c", code)
    assert (result.status, result.phase) == (Status.NONZERO_EXIT, "compile")
    assert "No such file" in result.stderr.text


@pytest.mark.once
async def test_compiling_takes_from_the_time_of_the_run(run):
    code = "int main(void) { for (;;) ; }\n// time"
    result = await run("c", code, timeout_s=6)
    assert (result.status, result.phase) == (Status.TIMED_OUT, "run")


@needs("c")
async def test_another_server_of_the_user_finds_what_one_kept(tmp_path: Path, state_dir: Path):
    request = Request("c", PROGRAMS["c"] + "// another server")
    seen = []
    for name in ("one", "two"):
        project = tmp_path / name
        project.mkdir()
        async with open_engine(
            project=project, state_dir=state_dir, rules=None, home=Path.home()
        ) as executor:
            seen.append((await executor.run(request)).result.compiled)
    assert seen == ["now", "kept"]


WRAPPER = """\
#!/bin/sh
case "$*" in *main*) getent hosts build.example.com >/dev/null || true ;; esac
exec /usr/bin/gcc "$@"
"""


@needs("c")
@pytest.mark.once
async def test_what_compiling_was_refused_is_told_by_the_run_that_compiled(
    tmp_path: Path, project: Path, monkeypatch
):
    folder = tmp_path / "toolchains"
    folder.mkdir()
    (folder / "gcc").write_text(WRAPPER)
    (folder / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    code = '#include <stdio.h>\nint main(void) { puts("ran"); return 0; }\n'
    state_dir = tmp_path / "state"
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=tmp_path / "home"
    ) as executor:
        first, second = [(await executor.run(Request("c", code))).result for _ in range(2)]
        failed = (await executor.run(Request("c", f"{code}!"))).result
    assert (first.status, first.stdout.text, first.compiled) == (Status.OK, "ran\n", "now")
    (refusal,) = first.refusals
    assert (refusal.kind, refusal.target) == ("network", "build.example.com")
    assert refusal.remedy == "nothing grants it while a program is compiled"
    assert (second.compiled, second.refusals) == ("kept", ())
    assert (failed.phase, failed.refusals) == ("compile", first.refusals)
