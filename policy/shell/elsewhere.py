"""Commands run in another environment: a project's, a container, a remote machine."""

from __future__ import annotations

from policy import marks
from policy.shell.call import Call, Runner, index_of
from policy.shell.guesses import likely_commands
from policy.shell.options import parse
from policy.shell.script_files import only_what_is_certain
from policy.shell.subcommands import outer_values
from policy.wordlist import word_set


def _project(call: Call) -> str | None:
    """`poetry run cmd`, `npm exec -- cmd`, `nix develop -c cmd`: a command behind a verb."""
    short, long = call.program.short, call.program.long.split()
    outer_short, outer_long = outer_values(call.name) or ("", ())
    outer = parse(call.argv, short + outer_short, (*long, *outer_long), permutes=False)
    words = [word for _, word in outer.operands]
    verbs = _PROJECT_VERBS.get(call.name, _EXEC_VERBS)
    if call.name == "nix" and (index := index_of(call.argv, "-c", "--command")):
        return call.run(call.argv[index + 1 :])
    if call.name == "yarn" and words[:1] == ["workspace"]:
        return call.run([call.name, *words[2:]])
    first_words = words[: 4 if call.name == "yarn" else 1]  # `yarn workspaces foreach exec cmd`
    verb = next((at for at, word in enumerate(first_words) if word in verbs), None)
    if verb is None:  # the dotenv of npm: `dotenv -e file -- cmd`
        return call.run(words) if call.name == "dotenv" and words else None
    short += "sx" if call.name == "cargo" else ""
    inner = parse(words[verb:], short, long, permutes=False)
    for value in inner.values(("c", "call", "s", "shell", "command")):
        call.run_text(value)
    operands = [word for _, word in inner.operands]
    if "--" in operands:
        return call.run(operands[operands.index("--") + 1 :])
    if operands and call.name == "hatch":
        operands[0] = operands[0].rpartition(":")[2]
    # What comes first may as well say where: a folder, a version, a profile.
    with only_what_is_certain(call.walker):
        for likely in list(likely_commands(operands))[1:]:
            call.run(likely)
    if len(operands) == 1 and " " in operands[0]:
        return call.run_text(operands[0])
    return call.run(operands)


_EXEC_VERBS = frozenset(("exec", "x", "dlx"))
_RUN_VERBS = frozenset(("run", "exec", "x", "shell", "tool"))
_PROJECT_VERBS = dict.fromkeys(
    word_set(
        "pipenv poetry pdm rye uv conda mamba micromamba op doppler devbox mise rtx nix "
        "asdf hatch pipx rustup pixi fnm"
    ),
    _RUN_VERBS,
) | {"cargo": frozenset(("watch",)), "dotenv": frozenset(("run",))}


def _remote(call: Call) -> str | None:
    """`ssh host words`: the words are joined and run by the remote shell."""
    parsed = parse(call.argv, call.program.short, permutes=False)
    for value in parsed.values(("o",)):
        key, _, text = value.replace("=", " ", 1).partition(" ")
        if key.lower() in ("proxycommand", "localcommand", "knownhostscommand", "remotecommand"):
            call.run_text(text, "ssh -o")
    if not call.program.skip:  # scp, sftp
        return None
    words = [word for _, word in parsed.operands][1:]
    words = words[1:] if words[:1] == ["--"] else words
    state = call.state.copy()
    state.cwd, state.env, state.variables = marks.WORD, {}, {}
    inner = call.inside()._replace(is_visible=False, is_syntactic=False)
    if words:
        return call.walker.run_text(" ".join(words), state, inner)
    if call.frame.stdin is not None and not parsed.has("N"):
        call.walker.run_text(call.frame.stdin, state, inner._replace(stdin=None))
    return None


def _container(call: Call) -> str | None:
    """`docker run image cmd`, `docker exec box cmd`, `kubectl exec pod -- cmd`."""
    if call.name.endswith("-compose"):
        return call.run([call.name.removesuffix("-compose"), "compose", *call.argv[1:]])
    verb = index_of(call.argv, "exec", "run", "rsh", "shell", "debug", "create", "enter")
    if verb is None:
        return None
    parsed = parse(call.argv[verb:], call.program.short, call.program.long.split(), permutes=False)
    words = [word for _, word in parsed.operands][1:]
    if "--" in call.argv[verb:]:
        words = list(call.argv[call.argv.index("--", verb) + 1 :])
    if words[:1] == ["--"]:
        words = words[1:]
    words = [word for value in parsed.values(("entrypoint",)) for word in value.split()] + words
    with only_what_is_certain(call.walker):
        for likely in list(likely_commands(words))[1:]:
            call.run(likely)
    if not words or (marks.is_only_hole(words[0]) and not marks.taint(words[0])):
        return None  # `docker run image "$@"`: whatever it is, it runs in the container
    state = call.state.copy()
    state.cwd, state.env, state.variables = marks.WORD, {}, {}
    inner = call.inside()._replace(is_visible=False)
    return call.walker.command(tuple(words), state, inner)


RUNNERS: dict[str, Runner] = {
    "project": _project,
    "remote": _remote,
    "container": _container,
}
