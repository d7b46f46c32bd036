"""Whether a container engine answers, and if not, why, and what would help."""

import json
import os
import socket
import subprocess
import sys

import pytest

from ctxmode.cli import main
from ctxmode.commands.doctor import show_diagnosis
from ctxmode.doctor.container_engine import EngineHealth, examine
from ctxmode.doctor.diagnosis import Diagnosis, PartHealth
from executor import Isolation
from executor.containers.engine import Endpoint
from images.inventory import ImageState, State

NOBODY = 65534
# All is loaded before the user changes: the checkout need not be readable for another one.
AS_NOBODY = f"""
import os, sys, trio, executor.containers.engine
from ctxmode.doctor import container_engine
os.setgroups([])
os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
health = trio.run(container_engine.examine, {{"DOCKER_HOST": sys.argv[1]}})
print(health.reason, health.remedy)
"""


def state(group: str, kind: State, remedy: str = "") -> ImageState:
    return ImageState(group, kind, f"localhost/context-mode/{group}:x", 2048, remedy)


@pytest.fixture
def listening(tmp_path):
    """A socket at which somebody listens who never says a word."""
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield path


async def test_where_nothing_names_an_engine_docker_is_not_even_loaded(tmp_path):
    code = (
        "import sys, trio\nfrom ctxmode.doctor import container_engine as c\n"
        f"c.DEFAULT_SOCKET = {str(tmp_path / 'none')!r}\n"
        "health = trio.run(c.examine, {})\n"
        "assert not health.reachable and 'docker' not in sys.modules\nprint(health.remedy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Install Docker Engine" in done.stdout


async def test_a_socket_that_is_not_there_asks_for_an_engine(tmp_path):
    health = await examine({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert (health.reachable, health.images) == (False, ())
    assert health.reason == f"no container engine: no {tmp_path}/none.sock"
    assert "DOCKER_HOST" in health.remedy


async def test_a_socket_at_which_nobody_listens_asks_to_start_the_engine(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "dead.sock"))
    health = await examine({"DOCKER_HOST": f"unix://{tmp_path}/dead.sock"})
    assert "is not running" in health.reason
    assert health.remedy.startswith("Start it")


async def test_a_socket_that_this_user_may_not_use_says_how_to_be_let_in(listening):
    if os.geteuid() != 0:
        pytest.skip("not applicable: only root can become a user who may do less")
    listening.chmod(0o600)
    refused = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, f"unix://{listening}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"no permission to use {listening}" in refused.stdout, refused.stderr
    assert "usermod -aG docker" in refused.stdout


async def test_an_engine_that_does_not_answer_is_not_waited_for(listening, monkeypatch):
    monkeypatch.setattr(Endpoint, "patience_s", 0.3)
    health = await examine({"DOCKER_HOST": f"unix://{listening}"})
    assert "does not answer within 0.3 s" in health.reason
    assert "DOCKER_HOST is unix://" in health.remedy


async def test_a_far_engine_that_cannot_be_reached_is_named(tmp_path):
    health = await examine({"DOCKER_HOST": "tcp://127.0.0.1:1"})
    assert not health.reachable
    assert "DOCKER_HOST is tcp://127.0.0.1:1" in health.remedy


async def test_a_context_that_is_not_there_is_told(tmp_path):
    health = await examine({"DOCKER_CONTEXT": "no-such-context"})
    assert not health.reachable
    assert "no-such-context" in health.reason + health.remedy


async def test_an_engine_that_answers_tells_what_it_is():
    pytest.importorskip("docker")
    health = await examine()
    if not health.reachable:
        pytest.skip("not applicable: no container engine answers here; .ci/engine starts one")
    assert health.version
    assert "runc" in health.runtimes
    assert {image.group for image in health.images} >= {"web", "scripting"}
    assert json.loads(json.dumps(health.to_json()))["images"][0]["group"] == "scripting"


def test_one_line_for_each_thing_that_would_help():
    images = (
        state("web", State.CURRENT),
        state("web", State.OUTDATED, "remove"),
        state("r", State.OUTDATED, "remove"),
        state("jvm", State.MISSING, "build jvm"),
    )
    assert EngineHealth(True, images=images).remedies == ("remove", "build jvm")
    assert EngineHealth(False, remedy="start it").remedies == ("start it",)


def test_a_person_sees_the_engine_and_its_images(capsys):
    engine = EngineHealth(
        *(True, "unix:///x.sock", "20.10", True, ("runc", "runsc"), "overlay2"),
        images=(state("web", State.CURRENT), state("r", State.MISSING, "build r")),
    )
    fine = PartHealth(True, "fine")
    show_diagnosis(Diagnosis("/p", {}, Isolation("A", {}), fine, fine, container_engine=engine))
    shown = capsys.readouterr().out
    assert "20.10, rootless, overlay2, runtimes runc, runsc  unix:///x.sock" in shown
    assert "localhost/context-mode/web:x  2.0 KB" in shown
    assert "containers: build r" in shown


@pytest.mark.parametrize("action", ["build", "list", "remove"])
def test_without_an_engine_every_action_says_what_to_do(action, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert main(["doctor", "images", action]) == 1
    said = capsys.readouterr().err
    assert "no container engine" in said
    assert "Install Docker Engine" in said


def test_an_unknown_image_is_refused_and_the_known_are_named(capsys):
    assert main(["doctor", "images", "build", "cobol"]) == 2
    assert "scripting, web, jvm" in capsys.readouterr().err
