"""An engine that hangs, is dead or is none: each command says so in a sentence, and ends.

Such an engine can't be had otherwise: a socket is listened on here in its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from ctxmode.doctor import container_engine
from executor import SandboxUnavailableError, Settings, open_engine
from executor.containers import engine as engine_module
from executor.containers.engine import DockerEngine, Endpoint, EngineError, connect
from images import GROUPS
from images.groups import BASE_LABEL
from images.image_build import Builder
from images.inventory import ImageError, survey

pytestmark = [
    # The SDK leaves the socket of a connection that was given up to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

HANGS_S = 40  # less than any of the deadlines by which a call of the SDK would end by itself
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ENDED = threading.Event()
Answer = Callable[[socket.socket], None]


def say(*pieces: bytes, then: Answer = lambda _: None) -> Answer:
    def answer(client: socket.socket) -> None:
        for piece in pieces:
            client.sendall(piece)
        then(client)

    return answer


def hang(client: socket.socket) -> None:
    while client.recv(1 << 16):
        pass


def drip(client: socket.socket) -> None:
    while not ENDED.wait(0.2):
        client.sendall(b" ")


def as_json(value: object) -> bytes:
    body = json.dumps(value).encode()
    return HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


BROKEN: dict[str, Answer] = {
    "never answers": hang,
    "answers with a head": say(HEAD + b"Content-Length: 9\r\n\r\n", then=hang),
    "answers in drops": say(HEAD + b"Content-Length: 99999\r\n\r\n", then=drip),
    "closes": say(),
    "answers with garbage": say(b"\0\xff\n\n garbage \r\n\r\n"),
    "answers with a page": say(HEAD + b"Content-Length: 4\r\n\r\n<p/>"),
    "answers with a list": say(as_json([])),
    "answers with nothing in it": say(as_json({})),
    "answers with a strange version": say(as_json({"ApiVersion": ["x"]})),
}


def reply(client: socket.socket, answers: dict[str, object]) -> None:
    """Answer what is known as Docker does, and hang at anything else."""
    while request := client.recv(1 << 16):
        path = request.split(b" ")[1].decode()
        known = [answer for end, answer in answers.items() if path.partition("?")[0].endswith(end)]
        client.sendall(as_json(known[0])) if known else hang(client)


FACTS: dict[str, object] = {"/version": {"ApiVersion": "1.41"}, "/info": {"ServerVersion": "fake"}}


@pytest.fixture
def listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], str]]:
    """What has an answer given at a socket, which DOCKER_HOST then names."""
    server = socket.socket(socket.AF_UNIX)
    path = tmp_path / "engine.sock"
    url = f"unix://{path}"
    monkeypatch.setenv("DOCKER_HOST", url)
    clients: list[socket.socket] = []
    ENDED.clear()

    def serve(answer: Answer) -> None:
        def one(client: socket.socket) -> None:
            try:
                answer(client)
            except OSError:
                pass  # it was given up
            finally:
                client.close()

        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            clients.append(client)
            threading.Thread(target=one, args=(client,), daemon=True).start()

    def begin(answer: Answer) -> str:
        server.bind(str(path))
        server.listen()
        threading.Thread(target=serve, args=(answer,), daemon=True).start()
        return url

    yield begin
    ENDED.set()
    for end in (server, *clients):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_whoever_asks_a_broken_engine_is_told_and_what_to_do(answer, listen, tmp_path):
    listen(answer)
    with trio.fail_after(HANGS_S):
        health = await container_engine.examine()
        with pytest.raises(container_engine.EngineUnreachableError) as unreachable:
            await container_engine.connect()
        with pytest.raises(SandboxUnavailableError) as unavailable:
            async with open_engine(
                project=tmp_path,
                state_dir=tmp_path / "state",
                rules=None,
                home=Path.home(),
                settings=Settings(isolation="container"),
            ):
                pass
    assert (health.reachable, "docker info" in health.remedy) == (False, True)
    for said in (health.reason, unreachable.value.message, str(unavailable.value)):
        assert said
        assert "Traceback" not in said
    assert "docker info" in str(unavailable.value)


async def test_a_queue_that_nobody_empties_is_not_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "engine.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as first:
        server.bind(str(path))
        server.listen(0)
        first.connect(str(path))
        with trio.fail_after(HANGS_S):
            assert "docker info" in (await container_engine.examine()).remedy
            with pytest.raises(EngineError, match="docker info"):
                await connect(Endpoint(f"unix://{path}"))


async def hanging(listen: Callable[[Answer], str], **more: object) -> DockerEngine:
    answers = FACTS | {f"/{name}": answer for name, answer in more.items()}
    return await connect(Endpoint(listen(lambda client: reply(client, answers))))


async def test_an_engine_that_hangs_later_is_noticed_in_any_call(listen, monkeypatch):
    monkeypatch.setattr(engine_module, "PING_S_MAX", 0.5)
    engine = await hanging(listen)
    with trio.fail_after(HANGS_S):
        for method in ("containers", "volumes"):
            with pytest.raises(EngineError, match=f"{method} is not answered: .*docker info"):
                await engine.call(method)
        with pytest.raises(EngineError, match="docker info"):
            await engine.attach("any")
        with pytest.raises(ImageError, match="does not answer within"):
            await survey(engine.api)
    engine.close()


async def test_a_call_that_takes_long_is_waited_for_while_the_engine_lives(listen, monkeypatch):
    monkeypatch.setattr(engine_module, "ALONE_S", 0.01)
    pings = 0
    known = FACTS | {"/_ping": "OK"}

    def late(client: socket.socket) -> None:
        nonlocal pings
        while request := client.recv(1 << 16):
            if b"_ping" in request:
                pings += 1
            elif b"/volumes" in request:
                while pings < 5 and not ENDED.wait(0.01):
                    pass
            end = request.split(b" ")[1].decode().partition("?")[0]
            answers = {**known, "/volumes": {"Volumes": []}}
            client.sendall(as_json(next(a for e, a in answers.items() if end.endswith(e))))

    engine = await connect(Endpoint(listen(late)))
    with trio.fail_after(HANGS_S):
        assert await engine.call("volumes") == {"Volumes": []}
    assert pings >= 5
    engine.close()


async def test_an_image_build_ends_when_the_engine_hangs_amid_it(listen):
    engine = await hanging(listen, json={"Id": "sha", "Config": {"Labels": {BASE_LABEL: "sha"}}})
    with trio.fail_after(HANGS_S):
        (made,) = await Builder(lambda _: None).make(engine.api, GROUPS[:1])
    assert made.error is not None
    assert "does not answer within" in made.error.message
    assert "docker info" in made.error.hint
    engine.close()


COMMANDS = {
    "run": (125, "run", "--isolation", "container", "shell", "-c", "true"),
    "images list": (1, "images", "list"),
    "images remove": (1, "images", "remove"),
    "images build": (1, "images", "build", "web"),
}


@pytest.mark.parametrize("row", COMMANDS.values(), ids=COMMANDS)
def test_every_command_that_needs_an_engine_ends(row, listen, tmp_path):
    code, *command = row
    environ = {**os.environ, "DOCKER_HOST": listen(hang), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "ctxmode", *command],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "does not answer within" in done.stderr
    assert "docker info" in done.stderr
    assert "Traceback" not in done.stderr
