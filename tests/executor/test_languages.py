"""Every language of the table, in the sandbox: the same things hold for all sixteen."""

from __future__ import annotations

from pathlib import Path

import pytest

import runtimes
from executor import Status

HELLO = {row.name: row.hello for row in runtimes.LANGUAGES}
# The program writes to stderr and exits 7.
FAIL = {
    "javascript": "console.error('why'); process.exit(7)",
    "typescript": "const n: number = 7; console.error('why'); process.exit(n)",
    "python": "import sys; print('why', file=sys.stderr); sys.exit(7)",
    "shell": "echo why >&2; exit 7",
    "ruby": "warn 'why'; exit 7",
    "go": 'fmt.Fprintln(os.Stderr, "why"); os.Exit(7)',
    "rust": 'eprintln!("why"); std::process::exit(7);',
    "php": 'fwrite(STDERR, "why\\n"); exit(7);',
    "perl": 'print STDERR "why\\n"; exit 7;',
    "r": "write('why', stderr()); quit(status = 7)",
    "elixir": 'IO.puts(:stderr, "why"); System.halt(7)',
    "csharp": 'System.Console.Error.WriteLine("why"); System.Environment.Exit(7);',
    "java": 'System.err.println("why"); System.exit(7);',
    "c": '#include <stdio.h>\nint main(void) { fputs("why\\n", stderr); return 7; }',
    "cpp": '#include <iostream>\nint main() { std::cerr << "why\\n"; return 7; }',
    "lua": "io.stderr:write('why\\n') os.exit(7)",
}
TEXT = "naïve — 日本語 🦀"
UNICODE = {
    "javascript": f"console.log('{TEXT}')",
    "typescript": f"const s: string = '{TEXT}'; console.log(s)",
    "python": f"print('{TEXT}')",
    "shell": f"echo '{TEXT}'",
    "ruby": f"puts '{TEXT}'",
    "go": f'fmt.Println("{TEXT}")',
    "rust": f'println!("{TEXT}");',
    "php": f'echo "{TEXT}\\n";',
    "perl": f"print '{TEXT}', \"\\n\";",
    "r": f"cat('{TEXT}\\n')",
    "elixir": f'IO.puts("{TEXT}")',
    "csharp": f'System.Console.WriteLine("{TEXT}");',
    "java": f'System.out.println("{TEXT}");',
    "c": f'#include <stdio.h>\nint main(void) {{ puts("{TEXT}"); return 0; }}',
    "cpp": f'#include <iostream>\nint main() {{ std::cout << "{TEXT}\\n"; }}',
    "lua": f"print('{TEXT}')",
}
# 2,000 lines of 100 bytes.
LARGE = {
    "javascript": "for (let i = 0; i < 2000; i++) console.log('x'.repeat(99))",
    "typescript": "for (let i: number = 0; i < 2000; i++) console.log('x'.repeat(99))",
    "python": "for _ in range(2000): print('x' * 99)",
    "shell": "i=0; while [ $i -lt 2000 ]; do printf '%099d\\n' 0; i=$((i+1)); done",
    "ruby": "2000.times { puts 'x' * 99 }",
    "go": 'for i := 0; i < 2000; i++ { fmt.Println(strings.Repeat("x", 99)) }',
    "rust": 'for _ in 0..2000 { println!("{}", "x".repeat(99)); }',
    "php": 'for ($i = 0; $i < 2000; $i++) echo str_repeat("x", 99), "\\n";',
    "perl": "print 'x' x 99, \"\\n\" for 1..2000;",
    "r": "for (i in 1:2000) cat(strrep('x', 99), '\\n', sep = '')",
    "elixir": 'for _ <- 1..2000, do: IO.puts(String.duplicate("x", 99))',
    "csharp": "for (int i = 0; i < 2000; i++) System.Console.WriteLine(new string('x', 99));",
    "java": 'for (int i = 0; i < 2000; i++) System.out.println("x".repeat(99));',
    "c": "#include <stdio.h>\n"
    'int main(void) { for (int i = 0; i < 2000; i++) printf("%099d\\n", 0); }',
    "cpp": "#include <iostream>\n#include <string>\n"
    "int main() { for (int i = 0; i < 2000; i++) std::cout << std::string(99, 'x') << \"\\n\"; }",
    "lua": "for i = 1, 2000 do print(string.rep('x', 99)) end",
}
# The number of lines of the bound file.
COUNT_LINES = {
    "javascript": "console.log(FILE_CONTENT.split('\\n').length - 1)",
    "typescript": "console.log(FILE_CONTENT.split('\\n').length - 1)",
    "python": "print(FILE_CONTENT.count('\\n'))",
    "shell": 'printf %s "$FILE_CONTENT" | grep -c .',
    "ruby": 'puts FILE_CONTENT.count("\\n")',
    "go": 'fmt.Println(strings.Count(FILE_CONTENT, "\\n"))',
    "rust": 'println!("{}", FILE_CONTENT.lines().count());',
    "php": 'echo substr_count($FILE_CONTENT, "\\n"), "\\n";',
    "perl": 'my $n = () = $FILE_CONTENT =~ /\\n/g; print "$n\\n";',
    "r": "cat(length(strsplit(FILE_CONTENT, '\\n')[[1]]), '\\n')",
    "elixir": 'IO.puts(length(String.split(file_content, "\\n", trim: true)))',
    "csharp": "System.Console.WriteLine(FILE_CONTENT.Split('\\n').Length - 1);",
    "java": "System.out.println(FILE_CONTENT.lines().count());",
    "c": "#include <stdio.h>\nint main(void) { int n = 0;"
    " for (const char *c = FILE_CONTENT; *c; c++) n += *c == '\\n'; printf(\"%d\\n\", n); }",
    "cpp": "#include <iostream>\n#include <string>\nint main() { int n = 0;"
    " for (char c : std::string(FILE_CONTENT)) n += c == '\\n'; std::cout << n << std::endl; }",
    "lua": "local _, n = FILE_CONTENT:gsub('\\n', '') print(n)",
}
NAMES = sorted(HELLO)


def test_every_table_has_every_language():
    for table in (FAIL, UNICODE, LARGE, COUNT_LINES):
        assert sorted(table) == NAMES


@pytest.mark.parametrize("language", NAMES)
async def test_hello_runs(language, run):
    result = await run(language, HELLO[language])
    assert (result.status, result.stdout.text) == (
        Status.OK,
        runtimes.language(language).hello_output,
    ), result.stderr.text


# What a language does, once it runs, is the same for every user.


@pytest.mark.once
@pytest.mark.parametrize("language", NAMES)
async def test_a_failing_program_keeps_its_exit_code_and_stderr(language, run):
    result = await run(language, FAIL[language])
    assert (result.status, result.exit_code) == (Status.NONZERO_EXIT, 7), result.stderr.text
    assert "why" in result.stderr.text
    assert result.phase == "run"


@pytest.mark.once
@pytest.mark.parametrize("language", NAMES)
async def test_unicode_comes_back_exact(language, run):
    result = await run(language, UNICODE[language])
    assert result.stdout.text == f"{TEXT}\n", result.stderr.text
    assert not result.stdout.binary


@pytest.mark.once
@pytest.mark.parametrize("language", NAMES)
async def test_a_large_output_is_counted_exactly(language, run):
    result = await run(language, LARGE[language])
    stdout = result.stdout
    assert (stdout.bytes_total, stdout.lines_total) == (200_000, 2000), result.stderr.text
    shown = len(stdout.head.encode()) + len(stdout.tail.encode())
    assert shown + stdout.bytes_omitted == 200_000
    assert shown <= 4096


@pytest.mark.view
@pytest.mark.parametrize("language", NAMES)
async def test_a_bound_file_is_there_as_file_content(language, run, project: Path):
    (project / "data.txt").write_text("".join(f"line {n} — ü\n" for n in range(500)))
    result = await run(language, COUNT_LINES[language], bind_file="data.txt")
    assert (result.stdout.text.split(), result.stderr.text) == (["500"], "")  # no tool warns


async def test_of_sys_r_sees_where_malloc_looks_and_nothing_else(run):
    """Two files, to read."""
    code = 'for (f in list.files("/sys", recursive = TRUE)) cat(f, file.access(f, 2), "\\n")'
    result = await run("r", code)
    assert result.status is Status.OK, result.stderr.text
    pages = "kernel/mm/transparent_hugepage"
    allowed = {f"{pages}/{name} -1 " for name in ("enabled", "hpage_pmd_size")}
    assert set(result.stdout.text.splitlines()) <= allowed
