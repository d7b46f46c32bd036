"""Proves an image: each of its languages runs its hello program there, as programs run there."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import docker
from docker.errors import APIError
from requests.exceptions import RequestException

from images.errors import ImageError, ask
from images.groups import Group
from images.naming import LABEL, reference

CHECK_S_MAX: Final = 300
HELLO: Final = ("python3", "-I", "-S", "-B", "/opt/ctxmode/agent/hello.py")
USER: Final = "65432:65432"

_HOST: Final[dict[str, Any]] = {
    "cap_drop": ["ALL"],
    "init": True,
    "mem_limit": "2g",
    "memswap_limit": "2g",
    "network_mode": "none",
    "pids_limit": 512,
    "read_only": True,
    "security_opt": ["no-new-privileges:true"],
    "tmpfs": {"/tmp": "rw,exec,nosuid,nodev,size=1g,mode=1777"},
}


@dataclass(frozen=True, slots=True)
class ToolchainCheck:
    """What came of one toolchain: `start_ms` is None if it did not run, and then `output` says
    why."""

    language: str
    toolchain: str
    start_ms: float | None
    output: str = ""


async def check(api: docker.APIClient, group: Group) -> tuple[ToolchainCheck, ...]:
    """Run every hello program of the group in its current image.

    Raises:
        ImageError: a language does not run, or the image does not start.
    """
    checks = tuple(_read(await ask(partial(_run, api, group), CHECK_S_MAX + 60)))
    for language in group.languages:
        tried = [check for check in checks if check.language == language]
        if not any(check.start_ms is not None for check in tried):
            said = "\n".join(f"{check.toolchain}: {check.output}" for check in tried)
            raise ImageError(f"{language} does not run in {reference(group)}", output=said)
    return checks


def _read(output: str) -> list[ToolchainCheck]:
    try:
        told = json.loads(output)
    except ValueError as error:
        raise ImageError("the image's part of this program failed", output=output) from error
    return [
        ToolchainCheck(language, each["toolchain"], each["start_ms"], each["output"])
        for language, attempts in told.items()
        for each in attempts
    ]


def _run(api: docker.APIClient, group: Group) -> str:
    container = api.create_container(
        reference(group),
        entrypoint=[*HELLO, *group.languages],
        user=USER,
        labels={LABEL: group.name},
        host_config=api.create_host_config(**_HOST),
    )["Id"]
    try:
        api.start(container)
        api.wait(container, timeout=CHECK_S_MAX)
        return bytes(api.logs(container)).decode(errors="replace")
    finally:
        with suppress(APIError, RequestException):
            api.remove_container(container, force=True, v=True)
