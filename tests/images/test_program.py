"""The image of the program itself: built, tried, and used as a pipeline uses it."""

import io
import json
import os
import re
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from images import base as settings
from images import groups
from tests.ctxmode.runner_logs import COMMANDS, github

ROOT = Path(__file__).parents[2]
DOCKERFILE = "images/program/Dockerfile"
BUILD_S_MAX = 1500
RUN_S_MAX = 300


def sources() -> dict[str, bytes]:
    """What .dockerignore lets through, and how this host reaches its package servers."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    names = [line.removeprefix("!") for line in lines if line.startswith("!")]
    paths = [
        path
        for top in (ROOT / name for name in names)
        for path in (groups.source_files(top) if top.is_dir() else [top])
    ]
    entries = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    host = dict(settings.of_host().for_own_base().files)
    index = os.environ.get("PIP_INDEX_URL")
    lines = ["[global]", *(["cert = /build/settings/ca.crt"] if "ca.crt" in host else [])]
    lines += [f"index-url = {index}"] if index else []
    host["pip.conf"] = "\n".join(lines).encode()
    return entries | {f"images/scripts/settings/{name}": text for name, text in host.items()}


@pytest.fixture
def image(api, base):
    """An image of these sources; it and what its steps left go with the test."""
    stage = uuid.uuid4().hex
    tag = f"localhost/context-mode/program-test:{stage}"
    output = api.build(
        fileobj=io.BytesIO(groups.archive(sources())),
        custom_context=True,
        dockerfile=DOCKERFILE,
        tag=tag,
        rm=True,
        forcerm=True,
        decode=True,
        timeout=BUILD_S_MAX,
        network_mode="host",
        nocache=True,
        buildargs={"BASE": base, "STAGE": stage, **settings.proxies(os.environ)},
    )
    told = "".join(str(message.get("stream", message.get("error", ""))) for message in output)
    assert api.images(name=tag), told[-3000:]
    yield tag
    api.remove_image(tag, force=True)
    for left in api.images(filters={"label": f"context-mode.stage={stage}"}):
        api.remove_image(left["Id"], force=True)


def test_the_program_works_in_its_image_in_the_tier_that_is_possible_there(image, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "count.py").write_text("import sys\nprint(len(sys.argv[1:]), *sys.argv[1:])\n")
    for folder in (project, *project.parents):
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o055)  # the container's user is another

    def run(*arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        place = ("--rm", "--network", "none", "--volume", f"{project}:/project", *options)
        command = ["docker", "run", *place, image, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=RUN_S_MAX, check=False
        )

    assert re.fullmatch(r"context-mode \d+\.\d+\.\d+\n", run("--version").stdout)
    bare_root = ("--user", "0", "--cap-drop", "ALL")
    for options in ((), ("--user", "1001:1001"), bare_root):
        isolation = isolation_of(run, options)
        # Docker's own rules forbid namespaces to whoever is in a container.
        assert isolation["tier"] in ("A", "B")
        assert all(layer["active"] or layer["reason"] for layer in isolation["layers"].values())
    the_remedy_gives_the_stronger_tier(image, run, isolation["layers"], tmp_path)
    tried = run("try", options=("--read-only", "--tmpfs", "/tmp:exec"))
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "in sandbox tier" in tried.stdout

    step = {"CONTEXT_MODE_IMAGE": image, "GITHUB_WORKSPACE": str(project)}
    step["CONTEXT_MODE_NETWORK"] = "none"
    step["CONTEXT_MODE_ARGUMENTS"] = "run\ncount.py\n--\none argument\n"
    done = subprocess.run(
        [ROOT / "images/program/action"],
        env=os.environ | step,
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, "1 one argument"), done.stdout
    the_example_runs_on_a_history(image, tmp_path / "history")


def isolation_of(run: Callable[..., subprocess.CompletedProcess[str]], options: tuple[str, ...]):
    done = run("run", "--json", "python", "count.py", "--", "a", "b c", options=options)
    result = json.loads(done.stdout)["result"]
    assert (result["status"], result["stdout"]["head"]) == ("ok", "2 a b c\n"), done.stderr
    return result["isolation"]


def the_remedy_gives_the_stronger_tier(image, run, layers, folder: Path) -> None:
    """What a result says in a container is typed as it stands; one option less is not enough."""
    told = re.findall("`docker run ([^`]*)`", layers["namespaces"]["remedy"])
    options, printing = (words.replace("IMAGE", image).split() for words in told)
    profile = folder / "seccomp.json"
    printed = subprocess.run(
        ["docker", "run", "--network", "none", *printing],
        capture_output=True,
        timeout=RUN_S_MAX,
        check=True,
    )
    profile.write_bytes(printed.stdout)
    options = [word.replace("seccomp=seccomp.json", f"seccomp={profile}") for word in options]
    assert isolation_of(run, tuple(options))["tier"] == "A"
    for at, word in enumerate(options):
        if word == "--security-opt":
            assert isolation_of(run, (*options[:at], *options[at + 2 :]))["tier"] == "B"
    as_root = (*options, "--user", "0")  # the last one counts
    assert isolation_of(run, as_root)["tier"] == "B"
    assert layers["cgroup"]["active"] or "docker run" in layers["cgroup"]["remedy"]


def the_example_runs_on_a_history(image: str, project: Path) -> None:
    """Five languages over a repository, in the tier that is possible, and what GitHub shows."""
    project.mkdir()
    (project / "history.toml").write_bytes((ROOT / "examples/ci/history.toml").read_bytes())
    git = ("git", "-C", str(project), "-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "Begin here"], check=True)
    owner = 1001 if os.geteuid() == 0 else os.geteuid()
    for path in (project, *project.rglob("*")):
        os.chown(path, owner, -1)
    place = ("--rm", "--network", "none", "--user", str(owner), "--volume", f"{project}:/project")
    github = ("--env", "GITHUB_ACTIONS=true", "--env", "GITHUB_STEP_SUMMARY=/project/summary.md")
    done = subprocess.run(
        ["docker", "run", *place, *github, image, "ci", "history.toml"],
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"6 passed in .*, sandbox tier [AB]\.", done.stdout)
    assert "commits: 1;" in (project / "summary.md").read_text()


PRINTS = """\
#!/bin/sh
[ "$1" = run ] || exit 0
echo "$@" > "$SAW"
cat "$PRINTED"
cat "$PRINTED" >&2
exit 3
"""


@pytest.mark.parametrize("verb", ["run", "ci"])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_that_a_program_prints_commands_the_runner_of_the_action(command, verb, tmp_path):
    """`ci` does the same for itself, so that its own commands pass."""
    (tmp_path / "docker").write_text(PRINTS)
    (tmp_path / "docker").chmod(0o755)
    printed = tmp_path / "printed"
    printed.write_text(COMMANDS[command], newline="")
    step = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PRINTED": str(printed),
        "SAW": str(tmp_path / "saw"),
        "CONTEXT_MODE_IMAGE": "image",
        "CONTEXT_MODE_ARGUMENTS": f"{verb}\nci\n",
        "GITHUB_WORKSPACE": str(tmp_path),
    }
    logs = []
    for _ in range(2):
        done = subprocess.run(
            [ROOT / "images/program/action"],
            env=step,
            capture_output=True,
            timeout=RUN_S_MAX,
            check=False,
        )
        assert (done.returncode, done.stderr) == (3, b"")
        logs.append(done.stdout.decode())
    obeyed = [github(log) for log in logs]
    told = "GITHUB_ACTIONS=true" in (tmp_path / "saw").read_text()
    if verb == "run":
        assert (obeyed, told) == ([[], []], False)
        assert COMMANDS[command] in logs[0]
        assert logs[0].splitlines()[0] != logs[1].splitlines()[0]  # a token of its own
    else:
        assert ([one == github(COMMANDS[command] * 2) for one in obeyed], told) == (
            [True] * 2,
            True,
        )


def test_the_action_hands_each_of_its_inputs_to_its_step():
    text = (ROOT / "action.yml").read_text()
    inputs = re.search(r"^inputs:\n(.*?)^runs:", text, re.MULTILINE | re.DOTALL)
    names = re.findall(r"^  (\w+):$", inputs.group(1), re.MULTILINE)
    script = (ROOT / "images/program/action").read_text()
    assert names
    for name in names:
        variable = re.search(rf"(\w+): \${{{{ inputs\.{name} }}}}", text)
        assert variable, name
        assert f"{variable.group(1)}" in script
