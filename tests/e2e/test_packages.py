"""Packages as a person, an agent and a pipeline have them, from an index of the test's own."""

from __future__ import annotations

import json

import pytest
from mcp.types import ElicitResult

from tests.e2e.test_consent import call
from tests.executor.packages.python_index import Index
from tests.executor.packages.served import serve

USE = "import alpha; print(alpha.VALUE)"


@pytest.fixture
def index():
    with serve() as served:
        index = Index(served)
        index.add("alpha", files={"alpha.py": b"VALUE = 'of alpha'\n"})
        yield index


def run(place, *words):
    """One command line, to its end, with its output as text."""
    done = place.run(*words)
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


def configure(place, index, *allow):
    """The user's own file names the index, and allows what it does."""
    file = place.home / ".config" / "ctxmode" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"[packages]\nallow = {json.dumps(allow)}\n"
        f'[packages.python]\nregistry = "{index.url}"\nprivate = true\n'
    )


def test_a_person_fetches_lists_locks_and_removes(place, index):
    configure(place, index, "python")
    ran = run(place, "run", "--packages", "alpha", "python", "-c", USE)
    assert (ran.returncode, ran.stdout) == (0, "of alpha\n"), ran.stderr
    (layer,) = json.loads(run(place, "doctor", "packages", "--json").stdout)["layers"]
    assert (layer["ecosystem"], layer["packages"]) == ("python", "alpha")
    locked = run(place, "doctor", "packages", "lock", "alpha", "--to", ".")
    assert locked.stdout == "wrote requirements.txt\n", locked.stderr
    assert "alpha==1.0" in (place.project / "requirements.txt").read_text()
    again = run(place, "doctor", "packages", "lock", "alpha", "--to", ".")
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    (place.project / "to").mkdir()
    (place.project / "to/requirements.txt").symlink_to(place.home / "planted")
    linked = run(place, "doctor", "packages", "lock", "alpha", "--to", "to")
    assert (linked.returncode, "is there already" in linked.stderr) == (2, True)
    assert not (place.home / "planted").exists()
    ran = run(place, "run", "--json", "--packages", "requirements.txt", "python", "-c", USE)
    assert json.loads(ran.stdout)["result"]["packages"] == "kept"
    added = run(place, "doctor", "packages", "add", "alpha")
    assert added.stdout == f"{layer['key'][:12]} was kept\n"
    removed = run(place, "doctor", "packages", "remove", layer["key"][:6])
    assert removed.stdout == f"removed {layer['key'][:12]}\n"
    assert run(place, "doctor", "packages").stdout.startswith("No package layers here yet.")
    assert run(place, "doctor", "packages", "remove", "--all").returncode == 0


def test_what_is_typed_imports_them_in_one_session(place, index):
    configure(place, index, "python")
    typed = b"import alpha\nkept = alpha.VALUE\nkept\n"
    done = place.run("run", "-i", "python", "--packages", "alpha", stdin=typed)
    assert (done.returncode, done.stdout) == (0, b"'of alpha'\n"), done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "--packages", "alpha", "python", "-c", USE), 1, "no user could be asked"),
        (("run", "--packages", "a@https://x/y.whl", "python", "-c", USE), 2, "direct address"),
        (("run", "--packages", "alpha", "shell", "-c", "true"), 2, "cannot be fetched"),
        (("run", "-i", "python", "--packages", "alpha"), 1, "no user could be asked"),
        (("run", "-i", "shell", "--packages", "alpha"), 2, "cannot be fetched"),
        (("doctor", "packages", "add", "alpha"), 1, "no user could be asked"),
        (("doctor", "packages", "add"), 2, "missing SPEC"),
        (("doctor", "packages", "remove", "0123"), 2, "no package layer '0123'"),
        (("doctor", "packages", "lock", "alpha", "--language", "cobol"), 2, "cobol"),
    ],
)
def test_what_can_not_be_had_is_said_without_a_traceback(place, index, words, code, said):
    configure(place, index)
    ran = run(place, *words)
    assert (ran.returncode, said in ran.stderr, "Traceback" in ran.stderr) == (code, True, False), (
        ran.stderr
    )
    assert index.served.asked == []


def test_a_step_of_a_pipeline_names_its_packages(place, index):
    configure(place, index, "python")
    step = f'[[step]]\nname = "use"\nlanguage = "python"\npackages = ["alpha"]\ncode = "{USE}"\n'
    (place.project / "pipeline.toml").write_text(step)
    ran = run(place, "ci", "pipeline.toml", "--json")
    (case,) = json.loads(ran.stdout)["cases"]
    assert (case["verdict"], "of alpha" in case["output"]) == ("passed", True), case


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("agrees", [True, False])
async def test_the_person_behind_an_agent_is_asked_once(place, index, mode, agrees):
    configure(place, index)
    answer = ElicitResult(action="accept", content={"allow": agrees})
    program = {"language": "python", "code": USE, "packages": ["alpha"]}
    result, asked = await call(place, answer, mode=mode, **program)
    (question,) = asked
    assert question == f"Fetch packages of Python (alpha) from localhost:{index.served.port}?"
    assert ("of alpha" in result.content[0].text) is agrees
    assert ("it was declined" in result.content[0].text) is not agrees


def in_python(*packages):
    return {"label": "use", "command": USE, "language": "python", "packages": list(packages)}


def test_each_command_of_a_batch_names_its_own(place, index):
    configure(place, index, "python")
    commands = [in_python("alpha"), in_python(), in_python("missing"), "echo plain"]
    done = place.run("run", "--batch", "-", "--json", stdin=json.dumps(commands).encode())
    with_it, without, missing, plain = json.loads(done.stdout)["commands"]
    assert with_it["result"]["packages"] == "kept", with_it  # had before any of them began
    assert with_it["result"]["stdout"]["head"] == "of alpha\n"
    assert without["result"]["exit_code"] == 1
    assert "no such package" in missing["skipped"]
    assert plain["result"]["stdout"]["head"] == "plain\n"


def test_a_batch_whose_packages_are_named_wrongly_runs_none(place, index):
    configure(place, index, "python")
    wrong = in_python("a@https://x/y.whl") | {"label": "second"}
    batch = {"profile": "build", "commands": ["touch ran", wrong]}
    done = place.run("run", "--batch", "-", stdin=json.dumps(batch).encode())
    assert (done.returncode, b"second: 'a@https" in done.stderr) == (2, True), done.stderr
    assert not (place.project / "ran").exists()
    assert index.served.asked == []


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_person_is_asked_before_any_command_of_a_batch_runs(place, index, mode):
    configure(place, index)
    answer = ElicitResult(action="accept", content={"allow": True})
    commands = [{"label": "plain", "command": "echo plain"}, in_python("alpha")]
    result, asked = await call(place, answer, "ctx_batch_execute", mode, commands=commands)
    (question,) = asked
    assert question.startswith("Fetch packages of Python (alpha)")
    text = result.content[0].text
    assert ("plain" in text, "of alpha" in text) == (True, True), text
