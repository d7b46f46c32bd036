"""Commands that the shared instance works for give what they give by themselves, and nothing of one
another; whatever happens to it, each gets an answer."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxmode.shared_instance import client
from ctxmode.shared_instance.processes import list_processes
from tests.e2e.shared_instances import Agent, list_servers, open_instance, wait_until

DENY = '[permissions]\ndeny = ["Bash(rm *)"]\n'
VARYING = re.compile(rb"[0-9.]+ (?:ms|s|MB|KB)\b|\"(?:wall_s|cpu_s|peak_memory_bytes)\": [0-9.e-]+")


@pytest.fixture
def shared(place):
    """A place whose commands use an instance, and its process."""
    rules = place.project / ".claude"
    rules.mkdir()
    denied = {"permissions": {"deny": ["Bash(rm *)"]}}
    (rules / "settings.json").write_text(json.dumps(denied))
    with open_instance(place) as (using, process):
        yield using, process


def event(command, place):
    """A host's event before a command."""
    asked = {"tool_name": "Bash", "tool_input": {"command": command}, "cwd": str(place.project)}
    return json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", **asked}).encode()


def plain(done):
    """What a command gives, without figures that vary."""
    return done.returncode, VARYING.sub(b"", done.stdout), VARYING.sub(b"", done.stderr)


COMMANDS = {
    "output": (("run", "shell", "-c", "echo out; echo err >&2"), b""),
    "exit code": (("run", "shell", "-c", "exit 7"), b""),
    "arguments": (("run", "python", "-c", "import sys; print(sys.argv[1:])", "a", "-b"), b""),
    "a piped program": (("run", "python"), b"print(6 * 7)"),
    "its input": (("run", "--stdin", "-", "shell", "-c", "cat"), b"given"),
    "a file of this folder": (("run", "count.py", "x", "y"), b""),
    "the working folder": (("run", "--cwd", "docs", "shell", "-c", "pwd"), b""),
    "an unknown language": (("run", "klingon", "-c", "x"), b""),
    "an unknown option": (("run", "--nonsense", "shell", "-c", ":"), b""),
    "help": (("run", "--help"), b""),
    "a denied program": (("run", "shell", "-c", "rm -rf /"), b""),
    "its own signal": (("run", "shell", "-c", "kill -9 $$"), b""),
    "a limit": (("run", "--timeout", "0.3", "shell", "-c", "sleep 30"), b""),
    "a batch": (("run", "--batch", "-"), b'["echo one", "echo two"]'),
    "the terminal's width": (("run", "shell", "-c", "echo ${COLUMNS-unset}"), b""),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_gives_the_same(name, place, shared):
    using, process = shared
    arguments, given = COMMANDS[name]
    alone = place.run(*arguments, stdin=given)
    assert plain(using.run(*arguments, stdin=given)) == plain(alone)
    assert list_servers(process)  # it was the instance


def test_paths_are_relative_to_the_folder_of_the_command(shared):
    using, process = shared
    (using.project / "docs/here.py").write_text("import os; print(os.getcwd())")
    for arguments in (["run", "here.py"], ["run", "shell", "-c", "pwd"]):
        done = subprocess.run(
            [*using.command, *arguments],
            cwd=using.project / "docs",
            env=using.environment,
            capture_output=True,
            check=False,
        )
        assert done.stdout == f"{using.project}/docs\n".encode(), done.stderr
    assert list_servers(process)


@pytest.mark.parametrize("command", ["ls -la", "rm -rf docs", "echo $(rm x)", "("])
def test_a_hook_answers_the_same(command, place, shared):
    using, _ = shared
    arguments, given = ("hook", "claude-code", "PreToolUse"), event(command, place)
    alone = place.run(*arguments, stdin=given)
    assert plain(using.run(*arguments, stdin=given)) == plain(alone)
    assert (b"deny" in alone.stdout) == (command != "ls -la")


def test_each_command_has_its_own_environment(shared, tmp_path):
    using, _ = shared
    own = tmp_path / "bin"
    own.mkdir()
    (own / "python3").symlink_to(shutil.which("python3"))
    profile = '[profiles.mine]\nbase = "analyze"\nenv = ["MINE", "TMUX"]\n'
    config = using.home / ".config/ctxmode"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(profile)
    program = ("run", "--profile", "mine", "shell", "-c", "echo $MINE $TMUX; umask")
    for value in ("one", "two"):
        done = using.run(*program, MINE=value, TMUX=value * 2)
        assert done.stdout.split()[:2] == [value.encode(), value.encode() * 2], done.stderr
    assert using.run(*program).stdout.split()[0] != b"two"
    named = using.run("run", "--json", "python", "-c", "1", PATH=f"{own}:{os.environ['PATH']}")
    assert json.loads(named.stdout)["result"]["exit_code"] == 0


def test_what_changes_between_two_commands_holds_for_the_second(shared):
    using, _ = shared
    assert using.run("run", "shell", "-c", "echo x > a; rm a").returncode == 126
    (using.project / ".claude/settings.json").unlink()
    assert using.run("run", "shell", "-c", "echo x > a; rm a").returncode == 0
    (using.project / ".ctxmode").mkdir()
    (using.project / ".ctxmode/config.toml").write_text("[limits]\nwall_s = 0.2\n")
    assert using.run("run", "shell", "-c", "sleep 5").returncode == 124
    (using.project / ".ctxmode/config.toml").unlink()
    subprocess.run(["python3", "-m", "venv", "--without-pip", using.project / ".venv"], check=True)
    found = using.run("run", "python", "-c", "import sys; print(sys.prefix)")
    assert found.stdout.strip().endswith(b".venv"), found


def test_no_command_sees_another_project(shared, tmp_path):
    using, _ = shared
    other = tmp_path / "other"
    other.mkdir()
    (using.project / "secret.txt").write_text("of the first")
    assert using.run("run", "shell", "-c", "cat secret.txt").stdout == b"of the first"
    elsewhere = using.run("run", "--project", other, "shell", "-c", f"cat {using.project}/*.txt")
    assert b"of the first" not in elsewhere.stdout


def test_a_limit_of_the_process_is_kept_by_itself(shared):
    using, process = shared
    done = subprocess.run(
        [*using.command, "run", "shell", "-c", "echo hi"],
        env=using.environment,
        cwd=using.project,
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert (done.returncode, done.stdout) == (0, b"hi\n")
    if resource.getrlimit(resource.RLIMIT_CORE) != (0, 0):
        assert not list_servers(process)


def test_a_signal_ends_the_run(shared):
    using, _ = shared
    running = subprocess.Popen(
        [*using.command, "run", "shell", "-c", "echo begun; sleep 60"],
        env=using.environment,
        cwd=using.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with running:
        assert running.stdout.readline() == b"begun\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
    assert using.run("ps", "--json").stdout.count(b'"number"') == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_that_waits_for_its_program(number, shared):
    using, process = shared
    reader, writer = os.pipe()  # a pipe that nobody writes to
    waiting = subprocess.Popen(
        [*using.command, "run", "python", "-"],
        env=using.environment,
        cwd=using.project,
        stdin=reader,
        stdout=subprocess.PIPE,
    )
    with waiting:
        wait_until(lambda: list_servers(process))
        time.sleep(1)  # until it reads
        waiting.send_signal(number)
        assert waiting.wait(30) == 128 + number
    os.write(writer, b"print('ran')")
    os.close(writer)
    os.close(reader)
    assert using.run("run", "shell", "-c", "echo on").stdout == b"on\n"


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_server_that_hangs_is_passed_by(is_begun, shared):
    using, process = shared
    if is_begun:
        using.run("run", "shell", "-c", ":")
    for one in list_servers(process):
        os.kill(one, signal.SIGSTOP)
    assert using.run("run", "shell", "-c", "echo hi").stdout == b"hi\n"
    for one in list_servers(process):
        os.kill(one, signal.SIGCONT)


def test_an_instance_that_does_not_answer_is_passed_by(shared):
    using, process = shared
    os.kill(process, signal.SIGSTOP)
    try:
        assert using.run("run", "shell", "-c", "echo hi").stdout == b"hi\n"
        denied = using.run("hook", "claude-code", "PreToolUse", stdin=event("rm x", using))
        assert b"deny" in denied.stdout
    finally:
        os.kill(process, signal.SIGCONT)


def test_no_denied_call_passes_while_the_instance_is_killed(shared):
    using, process = shared
    using.run("run", "shell", "-c", ":")

    def ask(number):
        if number % 4 == 3:
            return using.run("run", "shell", "-c", "echo ran")
        denied = event(f"rm -rf file{number}", using)
        return using.run("hook", "claude-code", "PreToolUse", stdin=denied)

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, number) for number in range(40)]
        wait_until(lambda: sum(one.done() for one in asked) > 8)
        for one in (*list_servers(process), process):
            os.kill(one, signal.SIGKILL)
        answers = [one.result() for one in asked]
    for number, done in enumerate(answers):
        if number % 4 == 3:
            is_lost = done.returncode == 125 and b"ended during this run" in done.stderr
            assert done.stdout == b"ran\n" or is_lost, done
        else:
            assert b'"deny"' in done.stdout, done


def test_agents_share_projects_and_no_sessions(shared):
    using, process = shared
    with Agent(using) as one, Agent(using) as two:
        assert one.run("x = 5; print(x)", session="s") == "5"
        assert "NameError" in two.run("print(x)", session="s")
        assert one.run("print(x)", session="s") == "5"
        assert len(list_servers(process)) == 1
        begun = one.call("ctx_execute", language="shell", code="sleep 60", background=True)
        handle = re.search(r"bg-[0-9a-f]+", begun)[0]
        assert "no background run" in two.call("ctx_background", handle=handle)
    wait_until(lambda: b'"number"' not in using.run("ps", "--json").stdout)


def test_an_agent_goes_on_after_its_server_was_lost(shared):
    using, process = shared
    with Agent(using) as agent:
        assert agent.run("print(1)") == "1"
        for one in (*list_servers(process), process):
            os.kill(one, signal.SIGKILL)
        assert agent.run("print(2)") in {
            "2",
            "the server was lost during this call, so its result is unknown; call again",
        }
        assert agent.run("print(3)") == "3"


def test_an_agent_stays_where_it_is_if_the_listener_alone_is_killed(shared):
    using, process = shared
    with Agent(using) as agent:
        assert agent.run("x = 1; print(x)", session="s") == "1"
        os.kill(process, signal.SIGKILL)
        assert agent.run("print(x)", session="s") == "1"
        with open_instance(using) as (_, later):
            assert later != process
            assert agent.run("print(x)", session="s") == "1"


CONNECT = """
import os, socket
folder = os.open({folder!r}, os.O_PATH | os.O_DIRECTORY)
name = [name for name in os.listdir({folder!r}) if name.endswith(".sock")][0]
with socket.socket(socket.AF_UNIX) as asking:
    asking.connect(f"/proc/self/fd/{{folder}}/{{name}}")
    print(asking.recv(64).decode())
"""


def test_no_program_of_a_sandbox_reaches_the_instance(shared):
    using, _ = shared
    code = CONNECT.format(folder=str(using.data / "state/shared"))
    reached = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert reached.stdout.startswith(b"context-mode")  # the control: outside it does
    assert b"context-mode" not in using.run("run", "python", "-c", code).stdout


def test_only_processes_of_the_user_are_answered(place, tmp_path, monkeypatch):
    """A socket that another user made is not used, though it greets."""
    if os.geteuid() != 0:
        pytest.skip("not applicable: only root starts a process of another user")
    folder = place.data / "state/shared"
    folder.mkdir(parents=True)
    for above in (folder, *folder.parents):
        if above.is_relative_to(tmp_path.parent.parent):
            above.chmod(0o777)
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(place.data))
    greet = (
        "import socket, sys\n"
        "with socket.socket(socket.AF_UNIX) as own:\n"
        "    own.bind(sys.argv[1])\n"
        "    own.listen()\n"
        "    print(flush=True)\n"
        "    while True:\n"
        "        own.accept()[0].send(b'context-mode 1\\n')\n"
    )
    for user in (0, 65534):
        name = f"{client.name_instance()}.sock"
        with subprocess.Popen(
            ["/usr/bin/env", "python3", "-c", greet, name],
            cwd=folder,
            user=user,
            stdout=subprocess.PIPE,
        ) as other:
            assert other.stdout.readline() == b"\n"
            stream = client.connect()
            other.kill()
        (folder / name).unlink()
        assert (stream is not None) == (user == 0)
        if stream is not None:
            stream.close()


def test_the_user_ends_the_instance_and_agents_go_on(shared):
    using, process = shared
    assert str(process).encode() in using.run("doctor", "--json").stdout
    with Agent(using) as agent:
        assert agent.run("print(1)") == "1"
        ended = using.run("ps", "stop", "--instance")
        assert str(process).encode() in ended.stdout
        assert list_processes(using.data / "state") == []
        assert agent.run("print(2)") == "2"
    assert using.run("ps", "stop", "--instance").stdout == b"no shared instance runs\n"


@pytest.mark.parametrize("off", [{"CI": "true"}, {"CONTEXT_MODE_INSTANCE_SHARED": "off"}])
def test_no_instance_is_started_where_none_is_wanted(place, off):
    wanted = {"CONTEXT_MODE_INSTANCE_SHARED": "auto"} | off
    assert place.run("run", "shell", "-c", ":", **wanted).returncode == 0
    assert not (place.data / "state/shared").exists()


def test_a_command_starts_the_instance_for_the_next(place):
    state = place.data / "state"
    assert place.run("run", "shell", "-c", ":", CONTEXT_MODE_INSTANCE_SHARED="auto").returncode == 0
    wait_until(lambda: list_processes(state))
    started = time.monotonic()
    wait_until(lambda: list((state / "shared").glob("*.sock")))
    assert time.monotonic() >= started
    os.kill(list_processes(state)[0], signal.SIGKILL)
