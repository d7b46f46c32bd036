"""Commands that a project's file runs in an environment: tox's, or a container of compose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from policy.shell.options import parse
from policy.shell.project_files import Project, Reader, Step, joined, table, texts
from policy.shell.project_files.data_files import read_data
from policy.wordlist import words

_COMPOSE = "compose.yaml compose.yml docker-compose.yml docker-compose.yaml"
_TOX_LINES = ("commands_pre", "commands", "commands_post")


def _tox(project: Project) -> Iterator[Step]:
    """`tox -e a,b -- arguments`: of tox.ini, setup.cfg, pyproject.toml or tox.toml."""
    argv = project.call.argv
    end = argv.index("--") if "--" in argv else len(argv)
    parsed = parse(argv[:end], "efcx", ("conf", "root", "workdir"))
    given = joined(argv[end + 1 :])
    for name in next(
        parsed.values(("c", "conf")), "tox.ini setup.cfg pyproject.toml tox.toml"
    ).split():
        folder, text = project.find(name)
        data = read_data(name, text)
        own = table(data, "tool", "tox")
        data = (
            read_data("tox.ini", str(own["legacy_tox_ini"]))
            if "legacy_tox_ini" in own
            else own or data
        )
        core = table(data, "tox") or table(data, "tox:tox") or data
        listed = core.get("env_list", core.get("envlist", ""))
        asked = ",".join(parsed.values(("e",))) or (
            ",".join(texts(listed)) if name != "tox.toml" else ",".join(texts(listed))
        )
        for env in dict.fromkeys(re.split(r"[,\s]+", asked)):
            base = table(data, "testenv") | table(data, "env_run_base")
            found = base | table(data, f"testenv:{env}") | table(data, "env", env)
            for line in [line for key in _TOX_LINES for line in _lines(found.get(key))]:
                line = re.sub(r"\{posargs(?::([^{}]*))?\}", lambda m: given or m[1] or "", line)
                yield Step(
                    line.replace("{toxinidir}", folder).replace("{tox_root}", folder), folder
                )


def _lines(value: object) -> Iterator[str]:
    """Command lines: those of a text, or lists of words."""
    for item in value if isinstance(value, list) else []:
        yield joined(texts(item))
    for line in value.replace("\\\n", " ").split("\n") if isinstance(value, str) else ():
        yield re.sub(r"^(?:[\w!,.-]+:\s+)?[-!]?\s*", "", line)


def _compose(project: Project) -> Iterator[Step]:
    """`docker compose run service command`, `up service`: as `docker run` does what it says."""
    argv = project.call.argv
    if "-" not in project.call.name:
        argv = argv[argv.index("compose") :] if "compose" in argv else ("",)
    outer = parse(
        argv, "fp", words("file project-name env-file profile project-directory"), permutes=False
    )
    verb, *rest = [word for _, word in outer.operands] or [""]
    if verb not in ("run", "up", "start", "create", "restart", "watch"):
        return
    inner = parse(
        (verb, *rest),
        "evpuwl",
        words("env volume publish user workdir entrypoint name"),
        permutes=verb != "run",
    )
    operands = [word for _, word in inner.operands]
    services: dict[str, Any] = {}
    folder = project.folder
    for name in list(outer.values(("f", "file"))) or [
        _COMPOSE,
        "compose.override.yaml docker-compose.override.yml",
    ]:
        found, text = project.find(name)
        folder = found or folder
        services |= table(read_data("x.yml", text), "services")
    wanted = operands[:1] if verb == "run" else operands or [*services]
    for name in wanted:
        given = operands[1:] if verb == "run" else []
        wanted += [
            other
            for other in _names(table(services, name).get("depends_on"))
            if other not in wanted
        ]
        yield Step(_as_run(table(services, name), given), folder)


def _names(value: object) -> list[str]:
    return [*value] if isinstance(value, dict) else [*texts(value)]


def _as_run(service: dict[str, Any], given: list[str]) -> str:
    """A service as `docker run` starts it."""
    found = ["docker", "run"]
    for volume in _names(service.get("volumes")):
        found += ["-v", volume] if volume[:1] in ("/", ".", "~") else []
    for path in texts(service.get("env_file")):
        found += ["--env-file", path]
    entry, command = service.get("entrypoint"), service.get("command")
    line = joined(given) or (command if isinstance(command, str) else joined(texts(command)))
    before = entry if isinstance(entry, str) else joined(texts(entry))
    return (
        f"{joined([*found, 'image'])} {before} {line}".replace("$$", "$")
        if before or line or len(found) > 2
        else ""
    )


READERS: dict[str, Reader] = {"tox": _tox} | dict.fromkeys(
    words("docker podman docker-compose podman-compose"), _compose
)
