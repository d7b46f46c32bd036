"""What a person types into a session shows its value, and an interrupt leaves its state."""

from __future__ import annotations

import pytest
import trio

from executor import LocalEngine, Request, RequestError, Result, Status
from runtimes import LANGUAGES
from tests.needs import need

# Programs one after the other, and what each shows.
VALUES = {
    "python": [
        ("x = 6 * 7", ""),
        ("x", "42\n"),
        ("'a', None", "('a', None)\n"),
        ("None", ""),
        ("for n in (1, 2):\n    n", "1\n2\n"),
        ("from __future__ import annotations\n_", "2\n"),
    ],
    "javascript": [
        ("let x = 6 * 7", ""),
        ("x", "42\n"),
        ("{a: [1, 'b']}", "{ a: [ 1, 'b' ] }\n"),
        ("await Promise.resolve('s') // late", "'s'\n"),
        ("console.log('told')", "told\n"),
        ("typeof (await import('node:fs')).readFileSync", "'function'\n"),
    ],
    "ruby": [("x = 6 * 7", "=> 42\n"), ("[x, :a, nil]", "=> [42, :a, nil]\n")],
    "r": [("x <- 6 * 7", ""), ("x", "[1] 42\n"), ("invisible(x)", "")],
    "shell": [
        ("x=42; declare -A map=([a]=1); shopt -s extglob", ""),
        ("echo $x ${map[a]}", "42 1\n"),
        ("return 3", ""),
        ("cat; echo end", "end\n"),
        ("echo still $x", "still 42\n"),
    ],
    "lua": [("x = 6 * 7", ""), ("x, 'a'", "42\ta\n"), ("print(x)", "42\n")],
    "perl": [
        ("my $x = 6 * 7; my @a = ({b => 2});", ""),
        ("$x", "42\n"),
        ("@a", '{\n  "b" => 2\n}\n'),
        ('print "told\\n"', "told\n"),
    ],
    "php": [
        ("$x = 6 * 7", "=> 42\n"),
        ("function f() { return ['a' => 1]; }", ""),
        ("f();", "=> array (\n  'a' => 1,\n)\n"),
        ("print 'told'", "told"),
        ("<?php echo $x;", "42"),
    ],
    "elixir": [
        ("x = 6 * 7", "42\n"),
        ("import Enum", "Enum\n"),
        ("map([x], &to_string/1)", '["42"]\n'),
    ],
}
# After so long a program is told again: a second word may hit the next, or its interpreter.
AGAIN_S = 3
# A program that says when it is under way and never ends.
ENDLESS = {
    "python": ["print('begun')\nwhile True: pass", "import time; print('begun'); time.sleep(600)"],
    "javascript": [
        # Not at once: where node hands SIGINT from its vm to the program, it takes it as the end.
        "setTimeout(() => console.log('begun'), 50); await new Promise((d) => setTimeout(d, 6e5))",
        "require('fs').writeSync(1, 'begun'); while (true) {}",
    ],
    "ruby": ["puts 'begun'; loop {}", "puts 'begun'; sleep"],
    "r": ["cat('begun\\n'); flush(stdout()); repeat {}", "cat('begun\\n'); Sys.sleep(600)"],
    "shell": [
        "f() { echo begun; while :; do sleep 600; done; }; while :; do f; done; echo after",
        "echo begun; sleep 600; echo after",
    ],
    "lua": [
        "print('begun'); while true do end",
        "local function f() while true do end end; print('begun'); f()",
    ],
    "perl": ['print "begun\\n"; while (1) {}', 'print "begun\\n"; sleep 600'],
    "php": ['echo "begun"; while (true) {}', 'echo "begun"; sleep(600);'],
    "elixir": [
        'IO.puts("begun"); Enum.each(Stream.cycle([1]), & &1)',
        'IO.puts("begun"); Process.sleep(600_000)',
        'System.cmd("sh", ["-c", "echo begun; exec sleep 600"], into: IO.stream())',
    ],
}
ERRORS = {
    "python": ("1 / 0", "ZeroDivisionError"),
    "javascript": ("nowhere", "ReferenceError: nowhere"),
    "ruby": ("x = (", "syntax error"),
    "r": ("stop('no')", "Error: no\n"),
    "shell": ("x=(", "unexpected EOF"),
    "lua": ("error('no')", "no"),
    "perl": ("die 'no'", "no at "),
    "php": ("throw new Exception('no')", "Exception: no\n"),
    "elixir": ('raise "no"', "** (RuntimeError) no\n"),
}


async def say(executor: LocalEngine, language: str, code: str, **more: object) -> Result:
    request = Request(language, code, session="s", interactive=True)
    need(language)
    return (await executor.run(request, **more)).result


async def interrupted(executor: LocalEngine, language: str, code: str) -> Result:
    """How a program ends that is interrupted once it has printed something."""
    need(language)
    begun, ended = trio.Event(), trio.Event()
    results: list[Result] = []

    async def run() -> None:
        results.append(await say(executor, language, code, on_output=lambda *_: begun.set()))
        ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await begun.wait()
        while not ended.is_set():  # a process that is just being forked may miss it, as anywhere
            await executor.interrupt("s")
            with trio.move_on_after(AGAIN_S):
                await ended.wait()
    return results[0]


def test_every_language_that_converses_is_tried():
    conversing = {row.name for row in LANGUAGES if row.conversation}
    assert set(VALUES) == set(ERRORS) == conversing
    assert set(ENDLESS) == conversing


@pytest.mark.once
@pytest.mark.parametrize("language", VALUES)
async def test_a_program_shows_its_value_as_the_languages_console_does(language, executor):
    for code, shown in VALUES[language]:
        result = await say(executor, language, code)
        assert (code, result.stdout.text) == (code, shown), result.stderr.text
        assert result.stderr.text == ""


@pytest.mark.once
@pytest.mark.parametrize("language", ERRORS)
async def test_an_error_is_told_without_the_places_of_the_driver(language, executor):
    code, told = ERRORS[language]
    result = await say(executor, language, code)
    assert (result.status, result.exit_code) == (Status.NONZERO_EXIT, 1)
    assert told in result.stderr.text
    assert "/main." not in result.stderr.text.replace("/main-1.", "")
    assert (await say(executor, language, "1")).session == "continued"


@pytest.mark.parametrize(
    ("language", "endless"), [(name, code) for name, codes in ENDLESS.items() for code in codes]
)
async def test_an_interrupt_ends_a_program_and_keeps_the_state(language, endless, executor):
    code, _ = VALUES[language][0]
    await say(executor, language, code)
    result = await interrupted(executor, language, endless)
    assert (result.status, result.exit_code) == (Status.NONZERO_EXIT, 130), result.stderr.text
    assert "after" not in result.stdout.text
    code, shown = VALUES[language][1]
    assert (await say(executor, language, code)).stdout.text == shown


async def test_nothing_that_runs_is_nothing_to_interrupt(executor):
    assert not await executor.interrupt("s")
    await say(executor, "shell", "true")
    assert not await executor.interrupt("s")


async def test_a_program_without_a_driver_is_ended_by_an_interrupt(executor):
    code = '#include <stdio.h>\nint main(void) { puts("begun"); fflush(stdout); for (;;); }'
    result = await interrupted(executor, "c", code)
    assert (result.status, result.signal) == (Status.SIGNALLED, 2)


async def test_what_is_interactive_needs_a_session(run):
    with pytest.raises(RequestError, match="needs a session"):
        await run("python", "1", interactive=True)
