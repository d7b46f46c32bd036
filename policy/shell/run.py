"""Programs that run programs: each convention a small function, chosen by the program's row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from policy import marks
from policy.effects import program_name
from policy.paths import resolve
from policy.shell import files, scripts
from policy.shell.interpreters import Interpreter, interpreter
from policy.shell.options import Parsed, parse
from policy.shell.outputs import output_of, quoted
from policy.shell.programs import PROGRAMS, QUERY_OPTIONS, UNKNOWN_PROGRAM, Program
from policy.shell.state import State

if TYPE_CHECKING:
    from policy.shell.walk import Frame, Walker

# Wrappers that Claude Code strips before it compares a command with a rule.
_COMPAT_WRAPPERS = frozenset("timeout time nice nohup stdbuf command builtin noglob xargs".split())


@dataclass(frozen=True, slots=True)
class Call:
    """One program start, with what its row says about its command line."""

    walker: Walker
    name: str
    argv: tuple[str, ...]
    program: Program
    parsed: Parsed
    state: State
    frame: Frame

    def inside(self, what: str = "") -> Frame:
        """The frame of what this program runs."""
        inner = self.frame.inside(what or self.name, self.frame.span or (0, 0), self.frame.text)
        if self.name in _COMPAT_WRAPPERS:
            return inner
        return replace(inner, is_syntactic=False)

    def operands(self) -> tuple[str, ...]:
        """The operands, without their places."""
        return tuple(word for _, word in self.parsed.operands)

    def run(self, argv: Sequence[str], state: State | None = None) -> str:
        """Run an inner command."""
        return self.walker.command(tuple(argv), state or self.state.copy(), self.inside())

    def run_text(self, text: str, what: str = "", stdin: str | None = None) -> str:
        """Run shell text."""
        inner = replace(self.inside(what), stdin=stdin)
        return self.walker.run_text(text, self.state.copy(), inner)


Runner = Callable[[Call], "str | None"]


def run_program(walker: Walker, argv: tuple[str, ...], state: State, frame: Frame) -> str:
    """Whatever a program other than a builtin does; returns what it would print."""
    name = _name_of(argv[0], state)
    program = PROGRAMS.get(name, UNKNOWN_PROGRAM)
    stops_early = program.runs in _STOPS_AT_OPERAND
    if name in ("tar", "gtar", "bsdtar") and len(argv) > 1 and re.fullmatch(r"[A-Za-z]+", argv[1]):
        argv = (argv[0], f"-{argv[1]}", *argv[2:])  # the old style, without the dash
    parsed = parse(
        argv,
        program.short,
        program.long.split(),
        permutes=not stops_early,
        long_with_one_dash=program.long_with_one_dash,
    )
    call = Call(walker, name, argv, program, parsed, state, frame)
    for value in parsed.values(program.runs_options.split()):
        call.run_text(value, f"{name} option")
    output = None
    if known := interpreter(name):
        output = _run_interpreter(call, known)
    elif _run_made_file(call):
        output = marks.LIST
    elif program.runs:
        output = RUNNERS[program.runs](call)
    files.report(call)
    if output is not None:
        return output
    return output_of(
        name, argv, frame.stdin, lambda path: walker.file_text(path, state, frame)
    )


def _name_of(word: str, state: State) -> str:
    """The program's name; through a link or a copy that this program made, the original's."""
    if "/" in word and state.links:
        word = resolve(word, state.cwd, state.links)
    return (program_name(word) or "").removesuffix(".exe")


def _run_made_file(call: Call) -> bool:
    """A script that this program wrote earlier is run by its path."""
    word = call.argv[0]
    if "/" not in word or resolve(word, call.state.cwd, call.state.links) not in call.state.files:
        return False
    run_script_file(call.walker, word, call.argv[1:], call.state.copy(), call.inside())
    return True


def run_script_file(
    walker: Walker, path: str, parameters: tuple[str, ...], state: State, frame: Frame
) -> None:
    """Run a shell script by path: its text if this program made it, else only the reading of it."""
    walker.report_file(path, state, frame, is_write=False)
    text = state.files.get(resolve(path, state.cwd, state.links))
    if text is None:
        return
    shebang = re.match(r"#!\s*(\S+)(?:\s+(\S+))?", text)
    if shebang:
        name = program_name(shebang[2] if shebang[1].endswith("/env") and shebang[2] else shebang[1])
        if known := interpreter(name or ""):
            walker.run_code(known.language, text, state, frame)
            return
    state.parameters, state.name = parameters, path
    walker.run_text(text, state, frame)


# Wrappers


def _argv(call: Call) -> str | None:
    inner = call.operands()[call.program.skip :]
    if call.parsed.has(*QUERY_OPTIONS.get(call.name, frozenset())):
        return None
    if len(inner) > 1 and inner[0] in ("-c", "--command") and "c" in call.program.short:
        return call.run_text(inner[1])
    return call.run(inner) if inner else None


def _env(call: Call) -> str | None:
    """Variables first, then a command; `env -S` splits one string into both."""
    state = call.state.copy()
    if call.parsed.has(*QUERY_OPTIONS.get(call.name, frozenset())):
        return None
    words = list(call.operands())
    for value in call.parsed.values(("S", "split-string")):
        call.run_text(" ".join([value, *map(quoted, words)]), "env -S")
        return None
    if call.parsed.has("i", "ignore-environment"):
        state.env = {}
    inner = call.inside()
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        state.assign(name, (value,))
        state.export(name)
        call.walker.consider_variable(name, (value,), state, inner, is_exported=True)
    if words:
        return call.run(words, state)
    if call.parsed.has("s", "i", "login") and call.name == "sudo" and call.frame.stdin:
        call.run_text(call.frame.stdin, "sudo -s")
    return None


def _su(call: Call) -> str | None:
    has_command = call.parsed.has("c", "command", "session-command")
    if not has_command and call.frame.stdin is not None:
        call.run_text(call.frame.stdin, "su")
    elif call.name == "runuser" and call.parsed.has("u", "user"):
        call.run(call.operands())
    return None


def _shell(call: Call) -> str | None:
    """`sh -c text name args`, `sh script args`, `sh -s args < text`."""
    parsed = parse(call.argv, call.program.short, call.program.long.split(), permutes=False)
    operands = tuple(word for _, word in parsed.operands)
    state = call.state.copy()
    state.functions, state.aliases = dict(call.state.functions), {}
    inner = replace(call.inside(f"{call.name} -c"), is_syntactic=False)
    for startup in parsed.values(("rcfile", "init-file")):
        run_script_file(call.walker, startup, (), state.copy(), inner)
    text = next(parsed.values(("c", "command")), None)
    if text is not None:
        state.name = operands[0] if operands else call.name
        state.parameters = operands[1:]
        return call.walker.run_text(text, state, inner)
    if operands and not parsed.has("s"):
        return _shell_script(call, operands, state)
    if call.frame.stdin is None:
        return None
    state.parameters = operands
    return call.walker.run_text(call.frame.stdin, state, replace(call.inside(), stdin=None))


def _shell_script(call: Call, operands: tuple[str, ...], state: State) -> str | None:
    path, *parameters = operands
    text = call.walker.file_text(path, state, call.frame)
    if path in ("-", "/dev/stdin", "/dev/fd/0") or path.startswith("/dev/fd/"):
        return call.walker.run_text(text, state, call.inside())
    run_script_file(call.walker, path, tuple(parameters), state, call.inside())
    return marks.LIST


def _project(call: Call) -> str | None:
    """`poetry run cmd`, `npm exec -- cmd`, `nix develop -c cmd`: a command behind a verb."""
    short, long = call.program.short, call.program.long.split()
    outer = parse(call.argv, short, long, permutes=False)
    words = [word for _, word in outer.operands]
    if not words:
        return None
    verb = words[0]
    if verb == "develop" and (index := _index_of(call.argv, "-c", "--command")):
        return call.run(call.argv[index + 1 :])
    if verb not in _PROJECT_VERBS.get(call.name, _EXEC_VERBS):
        return None
    inner = parse(words, short, long, permutes=False)
    for value in inner.values(("c", "call")):
        call.run_text(value)
    operands = [word for _, word in inner.operands]
    if "--" in operands:
        operands = operands[operands.index("--") + 1 :]
    return call.run(operands[1:] if call.name in ("direnv", "aws-vault") else operands)


_EXEC_VERBS = frozenset(("exec", "x", "dlx"))
_RUN_VERBS = frozenset(("run", "exec", "x", "shell", "tool"))
_PROJECT_VERBS = dict.fromkeys(
    "pipenv poetry pdm rye uv conda mamba micromamba op doppler devbox mise rtx dotenv nix asdf "
    "hatch".split(),
    _RUN_VERBS,
)


def _index_of(argv: Sequence[str], *words: str) -> int | None:
    return next((index for index, word in enumerate(argv) if word in words), None)


def _remote(call: Call) -> str | None:
    """`ssh host words`: the words are joined and run by the remote shell."""
    parsed = parse(call.argv, call.program.short, permutes=False)
    for value in parsed.values(("o",)):
        key, _, text = value.replace("=", " ", 1).partition(" ")
        if key.lower() in ("proxycommand", "localcommand", "knownhostscommand", "remotecommand"):
            call.run_text(text, "ssh -o")
    words = [word for _, word in parsed.operands][1:]
    state = call.state.copy()
    state.cwd, state.env, state.variables = marks.WORD, {}, {}
    inner = replace(call.inside(), is_visible=False, is_syntactic=False)
    if words:
        return call.walker.run_text(" ".join(words), state, inner)
    if call.frame.stdin is not None and not parsed.has("N"):
        call.walker.run_text(call.frame.stdin, state, replace(inner, stdin=None))
    return None


def _container(call: Call) -> str | None:
    """`docker run image cmd`, `docker exec box cmd`, `kubectl exec pod -- cmd`."""
    verb = _index_of(call.argv, "exec", "run", "rsh", "shell", "debug", "create", "enter")
    for value in call.parsed.values(("v", "volume")):
        call.walker.report_file(value.split(":")[0], call.state, call.frame, is_write=False)
    if verb is None:
        return None
    parsed = parse(
        call.argv[verb:], call.program.short, call.program.long.split(), permutes=False
    )
    words = [word for _, word in parsed.operands][1:]
    if "--" in call.argv[verb:]:
        words = list(call.argv[call.argv.index("--", verb) + 1 :])
    if words[:1] == ["--"]:
        words = words[1:]
    words = [*parsed.values(("entrypoint",)), *words]
    if not words:
        return None
    state = call.state.copy()
    state.cwd, state.env, state.variables = marks.WORD, {}, {}
    inner = replace(call.inside(), is_visible=False)
    return call.walker.command(tuple(words), state, inner)


# Repeaters


def _stdin_words(call: Call) -> tuple[str, ...]:
    text = call.frame.stdin
    if text is None:
        return (marks.LIST,)
    if marks.is_known(text):
        return tuple(text.split())
    if marks.PATHS in text:
        return tuple(text.split())
    return (marks.LIST,)


def _xargs(call: Call) -> str | None:
    parsed = parse(call.argv, call.program.short, call.program.long.split(), permutes=False)
    inner = [word for _, word in parsed.operands]
    words = _stdin_words(call)
    placeholder = next(parsed.values(("I", "replace")), "{}" if parsed.has("i", "replace") else None)
    frame = replace(call.inside(), stdin=None)
    if parsed.options:
        frame = replace(frame, is_syntactic=False)
    if placeholder is None:
        argv = (*(inner or ["echo"]), *words)
        return call.walker.command(argv, call.state.copy(), frame)
    output = ""
    for item in _lines(call.frame.stdin):
        argv = tuple(word.replace(placeholder, item) for word in inner)
        output = call.walker.command(argv, call.state.copy(), frame)
    return output


def _lines(text: str | None) -> list[str]:
    """Lines of known input, each one word to replace a placeholder."""
    if text is None or (not marks.is_known(text) and marks.PATHS not in text):
        return [marks.LIST]
    return text.removesuffix("\n").split("\n")[:64]


def _parallel(call: Call) -> str | None:
    argv = list(call.argv[1:])
    separator = _index_of(argv, ":::", "::::", ":::+")
    items = [argv[separator + 1 :]] if separator is not None else []
    head = argv[:separator] if separator is not None else argv
    words = [word for _, word in parse(["", *head], call.program.short,
                                       call.program.long.split(), permutes=False).operands]  # fmt: skip
    texts = items[0] if items else _lines(call.frame.stdin)
    for item in texts:
        command = " ".join(words)
        text = command.replace("{}", item) if "{}" in command else f"{command} {item}".strip()
        call.run_text(text)
    return None


def _text(call: Call) -> str | None:
    """The operands joined are one command line."""
    words = [word for _, word in parse(call.argv, call.program.short,
                                       call.program.long.split(), permutes=False).operands]  # fmt: skip
    return call.run_text(" ".join(words)) if words else None


def _texts(call: Call) -> str | None:
    for text in call.operands():
        call.run_text(text)
    return None


def _terminal(call: Call) -> str | None:
    """`tmux new-session 'cmd'`, `tmux send-keys cmd Enter`."""
    operands = call.operands()
    if operands and operands[0] in _TERMINAL_VERBS:
        words = [word for word in operands[1:] if word not in ("Enter", "C-m")]
        if words:
            call.run_text(" ".join(words))
    return None


_TERMINAL_VERBS = frozenset(
    "new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window "
    "run-shell run if-shell if pipe-pane pipep send-keys send display-popup popup".split()
)


def _stdin_text(call: Call) -> str | None:
    if call.frame.stdin is not None:
        call.run_text(call.frame.stdin)
    return None


def _crontab(call: Call) -> str | None:
    for line in (call.frame.stdin or "").splitlines():
        entry = re.match(r"\s*(?:@\w+|(?:\S+\s+){4}\S+)\s+(.*)", line)
        if entry and not line.lstrip().startswith("#"):
            call.run_text(entry[1])
    return None


def _find(call: Call) -> str | None:
    """`-exec cmd ;` and its kin; `{}` becomes what is known of the paths found."""
    argv = call.argv
    found = output_of("find", argv, None, lambda path: marks.LIST).removesuffix("\n")
    index = 1
    while index < len(argv):
        if argv[index] not in ("-exec", "-execdir", "-ok", "-okdir"):
            index += 1
            continue
        end = index + 1
        while end < len(argv) and argv[end] != ";" and not (argv[end] == "+" and argv[end - 1] == "{}"):
            end += 1
        call.run([word.replace("{}", found) for word in argv[index + 1 : end]])
        index = end + 1
    return None


def _fd(call: Call) -> str | None:
    index = _index_of(call.argv, "-x", "--exec", "-X", "--exec-batch")
    if index is not None:
        inner = [word.replace("{}", marks.PATHS) for word in call.argv[index + 1 :]]
        call.run(inner if marks.PATHS in "".join(inner) else [*inner, marks.PATHS])
    return None


def _run_scripts(found: Callable[[str], Iterable[str]]) -> Runner:
    """A runner for a program whose own language can start commands, as `found` extracts them."""

    def runner(call: Call) -> str | None:
        for script in _own_scripts(call):
            for text in found(script):
                call.run_text(text, f"{call.name} program")
        return None

    return runner


def _own_scripts(call: Call) -> Iterator[str]:
    """The script texts on the command line: option values, else the first operand."""
    given = list(call.parsed.values(("e", "expression", "source")))
    if given or call.parsed.has("f", "file"):
        yield from given
    else:
        yield from call.operands()[:1]


def _vim(call: Call) -> str | None:
    commands = [*call.parsed.values(("c", "cmd")), *(w[1:] for w in call.argv[1:] if w[:1] == "+")]
    for command in commands:
        if shelled := re.match(r":?\s*(?:sil\w*!?\s+)?(?:r\w*\s*)?!(.*)", command, re.DOTALL):
            call.run_text(shelled[1], "vim !")
        elif opened := re.match(r":?\s*(?:e|r|read|edit|sp|vs|tabe)\w*\s+(\S+)", command):
            call.walker.report_file(opened[1], call.state, call.frame, is_write=False, argv=call.argv)
    return None


def _make(call: Call) -> str | None:
    sources = [*call.parsed.values(("eval",))]
    for path in call.parsed.values(("f", "file", "makefile")):
        text = call.walker.file_text(path, call.state, call.frame)
        if marks.is_known(text):
            sources.append(text)
    for word in call.operands():
        if word.startswith(("SHELL=", ".SHELLFLAGS=")):
            call.run_text(word.partition("=")[2])
    for source in sources:
        for text in scripts.make_recipes(source):
            call.run_text(text, "make recipe")
    return None


def _ed(call: Call) -> str | None:
    for line in (call.frame.stdin or "").splitlines():
        if shelled := re.match(r"\s*(?:[\d,$.%]*\s*[rwe]\s*)?!(.*)", line):
            call.run_text(shelled[1], "ed !")
        elif opened := re.match(r"\s*[\d,$.%]*\s*[rweE]\s+(\S+)", line):
            call.walker.report_file(opened[1], call.state, call.frame, is_write=False)
    return None


def _expect(call: Call) -> str | None:
    """Tcl's `spawn cmd`, `exec cmd`, `system cmd`."""
    sources = [*call.parsed.values(("c",)), call.frame.stdin or ""]
    for source in sources:
        for match in re.finditer(r"(?:^|[;\n{\[])\s*(?:spawn|system|exec)\s+([^;\n\]}]+)", source):
            call.run_text(match[1], "expect spawn")
    return None


def _tee(call: Call) -> str | None:
    """What is copied to a file can be run from it later."""
    for path in call.operands():
        resolved = resolve(path, call.state.cwd, call.state.links)
        call.state.files[resolved] = call.frame.stdin or marks.LIST
    return None


def _gdb(call: Call) -> str | None:
    for value in call.parsed.values(("ex", "eval-command", "iex")):
        if shelled := re.match(r"\s*(?:!|shell\s+|pipe\s+\|?)(.*)", value):
            call.run_text(shelled[1], "gdb shell")
    if (index := _index_of(call.argv, "--args", "-args", "--")) is not None:
        call.run(call.argv[index + 1 :])
    return None


def _socat(call: Call) -> str | None:
    for word in call.operands():
        if started := re.match(r"(?i)(exec|system|shell):([^,]*)", word):
            call.run_text(started[2], "socat")
    return None


def _tar(call: Call) -> str | None:
    for value in call.parsed.values(("checkpoint-action",)):
        kind, _, text = value.partition("=")
        if kind == "exec":
            call.run_text(text, "tar checkpoint action")
    return None


def _ln(call: Call) -> str | None:
    """A link, a copy or a new name stands for what it was made from."""
    operands = call.operands()
    if len(operands) >= 2:
        link = resolve(operands[-1], call.state.cwd, call.state.links)
        for operand in operands[:-1]:
            target = resolve(operand, call.state.cwd, call.state.links)
            call.state.links[f"{link}/{target.rsplit('/', 1)[-1]}"] = target
            if len(operands) == 2:
                call.state.links[link] = target
    elif operands and call.name == "ln":
        target = resolve(operands[0], call.state.cwd, call.state.links)
        call.state.links[resolve(target.rsplit("/", 1)[-1], call.state.cwd)] = target
    return None


def _none(call: Call) -> str | None:
    return None


# Interpreters of other languages


def _run_interpreter(call: Call, known: Interpreter) -> str | None:
    parsed = parse(
        call.argv,
        known.code + known.values,
        [*known.code_long.split(), *known.values_long.split()],
        permutes=False,
    )
    walker, state = call.walker, call.state.copy()
    frame = replace(call.inside(), is_syntactic=False)
    operands = [word for _, word in parsed.operands]
    codes = list(parsed.values([*known.code, *known.code_long.split()]))
    if operands and known.eval_command == operands[0]:
        codes, operands = [*codes, *operands[1:2]], operands[2:]
    for code in codes:
        state.parameters = tuple(operands)
        walker.run_code(known.language, code, state, frame)
    if codes or any(parsed.values(tuple(known.modules))):
        return marks.LIST
    if operands and known.run_command == operands[0]:
        operands = operands[1:]
    path = operands[0] if operands else "-" if call.frame.stdin is not None else None
    if path is None or parsed.has("version", "help", "h", "V") or call.name == "R":
        return None
    text = walker.file_text(path, state, call.frame)
    if path in ("-", "/dev/stdin") or path.startswith("/dev/fd/") or text != marks.LIST:
        walker.run_code(known.language, text, state, frame)
    return marks.LIST


def _git(call: Call) -> str | None:
    from policy.shell.git import run_git

    return run_git(call)


def _download(call: Call) -> str | None:
    from policy.shell.downloads import report_download

    return report_download(call)


def _dd(call: Call) -> str | None:
    return None


RUNNERS: dict[str, Runner] = {
    "argv": _argv,
    "env": _env,
    "su": _su,
    "shell": _shell,
    "project": _project,
    "remote": _remote,
    "container": _container,
    "xargs": _xargs,
    "parallel": _parallel,
    "text": _text,
    "texts": _texts,
    "terminal": _terminal,
    "stdin_text": _stdin_text,
    "crontab": _crontab,
    "find": _find,
    "fd": _fd,
    "sed": _run_scripts(scripts.sed_commands),
    "awk": _run_scripts(scripts.awk_commands),
    "vim": _vim,
    "make": _make,
    "gdb": _gdb,
    "ed": _ed,
    "expect": _expect,
    "tee": _tee,
    "socat": _socat,
    "tar": _tar,
    "ln": _ln,
    "dd": _dd,
    "git": _git,
    "download": _download,
    "none": _none,
}

_STOPS_AT_OPERAND = frozenset(("argv", "env"))
