"""The messages between the server and a container's agent, typed. Data only; see `frames`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from executor.spawner.messages import FromSupervisor


class Hello(TypedDict):
    """What an agent says of itself when it has started."""

    protocol: int
    landlock: int
    pid: int
    uid: int
    exposed: list[int]  # descriptors that a program's user could open


class FoundCandidate(TypedDict):
    """A toolchain that lies in the image."""

    toolchain: str
    paths: dict[str, str]
    real_paths: dict[str, str]
    fingerprint: list[tuple[str, int, int]]
    env: dict[str, str]


class FoundLanguage(TypedDict):
    """What discovery found of a language."""

    candidates: list[FoundCandidate]
    passed_over: list[str]


class FromAgent(FromSupervisor, total=False):
    """Everything that an agent says; each message has some of it."""

    hello: Hello
    discovered: dict[str, FoundLanguage]
    connected: int  # the port on which a program has connected
    channel: int
    channels: list[int]  # of the descriptors that come with a message


class AgentOrder(TypedDict):
    """An order to an agent. Of a descriptor there is its channel, and what it is or its size."""

    order: str
    size: int
    channels: list[tuple[int, int | str]]
    listen: NotRequired[list[int]]
