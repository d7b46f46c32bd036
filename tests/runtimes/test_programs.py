"""Every language really runs: what its programs print, how they end, what they receive."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from runtimes.registry import LANGUAGES, language

UNICODE = "héllo wörld ✓ 日本語 🎉"
BIG = ("x" * 99 + "\n") * 2048


@dataclass(frozen=True)
class Samples:
    """The same small programs, one set a language.

    `fails` writes "to stderr" there and exits with 3; `unicode` prints UNICODE; `big` prints BIG;
    `args` prints its arguments, one a line; `stdin` prints how many lines it reads.
    """

    fails: str
    unicode: str
    big: str
    args: str
    stdin: str


JAVASCRIPT = Samples(
    fails='console.error("to stderr"); process.exit(3);',
    unicode=f'console.log("{UNICODE}");',
    big='process.stdout.write(("x".repeat(99) + "\\n").repeat(2048));',
    args="for (const arg of process.argv.slice(2)) console.log(arg);",
    stdin=(
        'const fs = require("fs");\n'
        'console.log(fs.readFileSync(0, "utf8").split("\\n").length - 1);'
    ),
)

SAMPLES = {
    "javascript": JAVASCRIPT,
    "typescript": Samples(
        fails='console.error("to stderr" as string); process.exit(3);',
        unicode=f'const text: string = "{UNICODE}";\nconsole.log(text);',
        big=JAVASCRIPT.big,
        args=JAVASCRIPT.args,
        stdin=(
            'import * as fs from "node:fs";\n'
            'const text: string = fs.readFileSync(0, "utf8");\n'
            'console.log(text.split("\\n").length - 1);'
        ),
    ),
    "python": Samples(
        fails='import sys\nprint("to stderr", file=sys.stderr)\nsys.exit(3)',
        unicode=f'print("{UNICODE}")',
        big='print(("x" * 99 + "\\n") * 2048, end="")',
        args="import sys\nfor arg in sys.argv[1:]: print(arg)",
        stdin="import sys\nprint(len(sys.stdin.readlines()))",
    ),
    "shell": Samples(
        fails="echo 'to stderr' >&2\nexit 3",
        unicode=f"echo '{UNICODE}'",
        big="line=$(printf '%099d' 0 | tr 0 x)\nyes $line | head -n 2048",
        args='for arg in "$@"; do echo "$arg"; done',
        stdin="wc -l | tr -d ' '",
    ),
    "ruby": Samples(
        fails='warn "to stderr"\nexit 3',
        unicode=f'puts "{UNICODE}"',
        big='print(("x" * 99 + "\\n") * 2048)',
        args="puts ARGV",
        stdin="puts STDIN.readlines.length",
    ),
    "go": Samples(
        fails='fmt.Fprintln(os.Stderr, "to stderr")\nos.Exit(3)',
        unicode=f'fmt.Println("{UNICODE}")',
        big='fmt.Print(strings.Repeat(strings.Repeat("x", 99)+"\\n", 2048))',
        args="for _, arg := range os.Args[1:] {\n\tfmt.Println(arg)\n}",
        stdin=(
            "scanner := bufio.NewScanner(os.Stdin)\nlines := 0\n"
            "for scanner.Scan() {\n\tlines++\n}\nfmt.Println(lines)"
        ),
    ),
    "rust": Samples(
        fails='eprintln!("to stderr");\nstd::process::exit(3);',
        unicode=f'println!("{UNICODE}");',
        big='print!("{}", ("x".repeat(99) + "\\n").repeat(2048));',
        args='for arg in std::env::args().skip(1) {\n    println!("{}", arg);\n}',
        stdin='use std::io::BufRead;\nprintln!("{}", std::io::stdin().lock().lines().count());',
    ),
    "php": Samples(
        fails='fwrite(STDERR, "to stderr\\n");\nexit(3);',
        unicode=f'echo "{UNICODE}\\n";',
        big='echo str_repeat(str_repeat("x", 99) . "\\n", 2048);',
        args='foreach (array_slice($argv, 1) as $arg) { echo "$arg\\n"; }',
        stdin='echo count(file("php://stdin")), "\\n";',
    ),
    "perl": Samples(
        fails='print STDERR "to stderr\\n";\nexit 3;',
        unicode=f'print "{UNICODE}\\n";',
        big='print +("x" x 99 . "\\n") x 2048;',
        args='print "$_\\n" for @ARGV;',
        stdin='my @lines = <STDIN>;\nprint scalar(@lines), "\\n";',
    ),
    "r": Samples(
        fails='message("to stderr")\nquit(status = 3)',
        unicode=f'cat("{UNICODE}\\n")',
        big='cat(strrep(paste0(strrep("x", 99), "\\n"), 2048))',
        args="writeLines(commandArgs(trailingOnly = TRUE))",
        stdin='cat(length(readLines(file("stdin"))), "\\n", sep = "")',
    ),
    "elixir": Samples(
        fails='IO.puts(:stderr, "to stderr")\nSystem.halt(3)',
        unicode=f'IO.puts("{UNICODE}")',
        big='IO.write(String.duplicate(String.duplicate("x", 99) <> "\\n", 2048))',
        args="Enum.each(System.argv(), &IO.puts/1)",
        stdin="IO.puts(Enum.count(IO.stream(:stdio, :line)))",
    ),
    "csharp": Samples(
        fails='Console.Error.WriteLine("to stderr");\nreturn 3;',
        unicode=f'Console.WriteLine("{UNICODE}");',
        big="Console.Write(string.Concat(Enumerable.Repeat(new string('x', 99) + \"\\n\", 2048)));",
        args="foreach (var arg in args) Console.WriteLine(arg);",
        stdin=(
            "var lines = 0;\nwhile (Console.ReadLine() != null) lines++;\nConsole.WriteLine(lines);"
        ),
    ),
    "java": Samples(
        fails='System.err.println("to stderr");\nSystem.exit(3);',
        unicode=f'System.out.println("{UNICODE}");',
        big='System.out.print(("x".repeat(99) + "\\n").repeat(2048));',
        args="for (var arg : args) System.out.println(arg);",
        stdin=(
            "var reader = new BufferedReader(new InputStreamReader(System.in));\n"
            "System.out.println(reader.lines().count());"
        ),
    ),
    "c": Samples(
        fails='fprintf(stderr, "to stderr\\n");\nreturn 3;',
        unicode=f'puts("{UNICODE}");',
        big=(
            "for (int i = 0; i < 2048; i++) {\n"
            "    for (int j = 0; j < 99; j++) putchar('x');\n    putchar('\\n');\n}"
        ),
        args="for (int i = 1; i < argc; i++) puts(argv[i]);",
        stdin=(
            "int lines = 0, c;\nwhile ((c = getchar()) != EOF) lines += c == '\\n';\n"
            'printf("%d\\n", lines);'
        ),
    ),
    "cpp": Samples(
        fails='std::cerr << "to stderr" << std::endl;\nreturn 3;',
        unicode=f'std::cout << "{UNICODE}" << std::endl;',
        big=("for (int i = 0; i < 2048; i++) std::cout << std::string(99, 'x') << \"\\n\";"),
        args="for (int i = 1; i < argc; i++) cout << argv[i] << endl;",
        stdin=(
            "std::string line;\nint lines = 0;\nwhile (std::getline(std::cin, line)) lines++;\n"
            "std::cout << lines << std::endl;"
        ),
    ),
    "lua": Samples(
        fails='io.stderr:write("to stderr\\n")\nos.exit(3)',
        unicode=f'print("{UNICODE}")',
        big='io.write((("x"):rep(99) .. "\\n"):rep(2048))',
        args="for _, value in ipairs(arg) do print(value) end",
        stdin="local lines = 0\nfor _ in io.lines() do lines = lines + 1 end\nprint(lines)",
    ),
}

# What only a part of C#'s compilers has by itself.
MODERN_CSHARP = [
    ("int F(int x) { return x + 1; }\nConsole.WriteLine(F(2));", "3\n"),
    ("static int F(int x) => x + 1;\nConsole.WriteLine(F(2));", "3\n"),
    (
        "async Task<int> F() { await Task.Delay(1); return 3; }\nConsole.WriteLine(await F());",
        "3\n",
    ),
    ("T Id<T>(T x) => x;\nif (true) { Console.WriteLine(Id(3)); }", "3\n"),
    ("Console.WriteLine(new P { X = 3 }.X);\nclass P { public int X { get; set; } }", "3\n"),
    (
        'Console.WriteLine(string.Join(",", new[] { 1, 2 }.Select(x => { return x * 2; })));',
        "2,4\n",
    ),
]

each_language = pytest.mark.parametrize("name", [row.name for row in LANGUAGES])


def samples_and_runners(name, runners):
    return SAMPLES[name], runners(language(name))


@each_language
def test_hello_prints_what_its_row_says(name, runners):
    for run in runners(language(name)):
        outcome = run(language(name).hello)
        assert (run.name, outcome.stdout) == (run.name, language(name).hello_output)
        assert (run.name, outcome.stderr) == (run.name, "")


@each_language
def test_a_failing_program_keeps_its_exit_code_and_stderr(name, runners):
    samples, each = samples_and_runners(name, runners)
    for run in each:
        outcome = run(samples.fails)
        assert (run.name, outcome.exit_code, outcome.stdout) == (run.name, 3, "")
        assert (run.name, outcome.stderr) == (run.name, "to stderr\n")


@each_language
def test_text_beyond_ascii_comes_out_as_it_was_written(name, runners):
    samples, each = samples_and_runners(name, runners)
    for run in each:
        outcome = run(samples.unicode)
        assert (run.name, outcome.stdout) == (run.name, UNICODE + "\n"), outcome.stderr


@each_language
def test_a_large_output_is_whole(name, runners):
    samples, each = samples_and_runners(name, runners)
    for run in each:
        outcome = run(samples.big)
        assert (run.name, len(outcome.stdout)) == (run.name, len(BIG)), outcome.stderr
        assert outcome.stdout == BIG


@each_language
def test_arguments_arrive_unchanged(name, runners):
    samples, each = samples_and_runners(name, runners)
    args = ("one", "two words", "-x", "--flag=é", "$HOME", "*")
    for run in each:
        outcome = run(samples.args, args=args)
        assert (run.name, tuple(outcome.stdout.splitlines())) == (run.name, args), outcome.stderr


@each_language
def test_a_program_reads_its_stdin(name, runners):
    samples, each = samples_and_runners(name, runners)
    for run in each:
        outcome = run(samples.stdin, stdin=b"a\nb\nc\n")
        assert (run.name, outcome.stdout) == (run.name, "3\n"), outcome.stderr


@pytest.mark.parametrize(("code", "printed"), MODERN_CSHARP)
def test_csharp_takes_top_level_statements_and_functions(code, printed, runners):
    for run in runners(language("csharp")):
        outcome = run(code)
        assert (run.name, outcome.stdout) == (run.name, printed), outcome.stderr
