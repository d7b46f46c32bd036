"""The command line, from a person's or a script's side."""

import http.server
import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from runtimes import LANGUAGES
from tests.e2e.conftest import PROBES


def test_a_program_shows_what_it_prints_and_exits_as_it_does(place):
    done = place.run("run", "python", "-c", "import sys; print('out'); sys.exit(3)")
    assert (done.returncode, done.stdout) == (3, b"out\n")


def test_both_streams_come_through_whole_and_unchanged(place):
    code = "head -c 300000 /dev/zero | tr '\\0' x; printf '\\377\\001' >&2"
    done = place.run("run", "shell", "-c", code)
    assert done.stdout == b"x" * 300_000
    assert done.stderr == b"\xff\x01"


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("run", "python", "count.py", "--", "-a", "b c"), b""),
        (("run", "count.py", "--", "-a", "b c"), b""),
        (("run", "python", "-", "--", "-a", "b c"), b"import sys\nprint(2, *sys.argv[1:])"),
        (("run", "python", "--", "-a", "b c"), b"import sys\nprint(2, *sys.argv[1:])"),
        (("run", "python", "-c", "import sys\nprint(2, *sys.argv[1:])", "--", "-a", "b c"), b""),
    ],
)
def test_a_program_comes_from_a_file_from_stdin_or_from_the_line(place, arguments, stdin):
    done = place.run(*arguments, stdin=stdin)
    assert (done.stdout, done.returncode) == (b"2 -a b c\n", 0), done.stderr


def test_paths_are_meant_from_the_folder_where_the_command_is_given(place):
    (place.project / "docs" / "here.py").write_text("import os; print(os.getcwd())\n")

    def run(*arguments):
        return subprocess.run(
            [*place.command, *arguments],
            capture_output=True,
            text=True,
            cwd=place.project / "docs",
            env=place.environment,
            timeout=60,
            check=False,
        )

    docs, project = f"{place.project}/docs\n", f"{place.project}\n"
    assert run("run", "here.py").stdout == docs
    assert run("run", "--cwd", "..", "here.py").stdout == project
    assert run("run", "shell", "-c", "pwd").stdout == docs
    assert run("index", "guide.md", "--json").returncode == 0


def test_a_project_that_is_named_is_where_the_program_runs(place, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    assert (
        place.run("run", "--project", other, "shell", "-c", "pwd").stdout == f"{other}\n".encode()
    )


def test_a_program_reads_the_stdin_and_the_file_that_it_is_given(place):
    done = place.run(
        "run", "python", "--stdin", "-", "--bind", "app.log", "-c",
        "import sys; print(sys.stdin.read().upper(), len(FILE_CONTENT.splitlines()))",
        stdin=b"hello",
    )  # fmt: skip
    assert done.stdout == b"HELLO 2000\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("shell", "-c", "kill -SEGV $$"), 139),
        (("shell", "--timeout", "0.3", "-c", "sleep 60"), 124),
        (("shell", "--limit", "output_bytes=1000", "-c", "yes"), 120),
    ],
)
def test_a_run_that_was_ended_has_the_code_that_stands_for_it(place, arguments, code):
    done = place.run("run", *arguments)
    assert done.returncode == code
    assert done.stderr.startswith(b"context-mode: ")


def test_a_limit_that_a_child_met_is_told_beside_its_parent_s_success(place):
    hungry = "awk 'BEGIN { s = \"x\"; while (1) s = s s }' 2> /dev/null || true"
    limit = ("--limit", "memory_bytes=67108864")
    told = json.loads(place.run("run", "shell", "--json", *limit, "-c", hungry).stdout)["result"]
    if not told["isolation"]["layers"]["cgroup"]["active"]:
        pytest.skip("not applicable: nothing counts what is refused")
    assert (told["status"], told["exit_code"]) == ("ok", 0)
    assert "ended at the memory limit (64 MiB)" in told["message"]
    done = place.run("run", "shell", *limit, "-c", hungry)
    assert done.returncode == 0
    assert b"ended at the memory limit (64 MiB)" in done.stderr


def test_what_a_failed_run_was_refused_is_its_last_line_and_an_intents_first(place):
    line = ("python", "-c", "open('/etc/shadow')")
    *trace, last = place.run("run", *line).stderr.decode().splitlines()
    assert trace[0].startswith("Traceback")
    assert last.startswith("context-mode: probably refused: read /etc/shadow, ")
    first, *rest = place.run("run", "--intent", "x", *line).stdout.decode().splitlines()
    assert first == f"[{last.removeprefix('context-mode: ')}]"
    assert rest[:2] == ["[stderr]", "Traceback (most recent call last):"]


def test_the_result_as_json_says_all_of_it(place):
    done = place.run("run", "shell", "--json", "-c", "echo hi; touch new; exit 4")
    result = json.loads(done.stdout)["result"]
    assert done.returncode == 4
    assert (result["status"], result["exit_code"]) == ("nonzero_exit", 4)
    assert result["stdout"]["head"] == "hi\n"
    assert result["isolation"]["tier"] in ("A", "B")
    if result["isolation"]["layers"]["copy_on_write"]["active"]:
        assert [c["path"] for c in result["changed_files"]] == ["new"]
    assert not (place.project / "new").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_output_comes_as_it_is_printed_and_a_signal_ends_the_program(place, number, code):
    marker = f"sleep 31{os.getpid()}{code}"
    program = subprocess.Popen(
        [*place.command, "run", "shell", "-c", f"echo started; {marker}"],
        cwd=place.project,
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert program.stdout.readline() == b"started\n"
    program.send_signal(number)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out, err) == (code, b"", b"")
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if marker in command_line(p)]
    assert list((place.data / "state" / "spool").iterdir()) == []


def command_line(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_a_large_output_is_found_again(place):
    done = place.run("run", "shell", "--json", "-c", "cat app.log; echo the needle here")
    kept = json.loads(done.stdout)["kept"]
    assert kept["bytes_indexed"] == kept["bytes_total"]
    found = place.run("search", "--json", "--source", kept["output_id"], "needle", "zzyzx")
    data = json.loads(found.stdout)
    assert set(data) == {"hits", "corrections", "truncated", "notes"}
    assert "the needle here" in data["hits"][0]["text"]
    assert {hit["source"].split("/")[0] for hit in data["hits"]} == {kept["output_id"]}


def test_the_same_command_again_supersedes_and_its_first_output_can_still_be_asked(place):
    (place.project / "state.txt").write_text("the first answer\n")
    command = ("run", "shell", "--json", "-c", "cat app.log; cat state.txt")
    first = json.loads(place.run(*command).stdout)["kept"]["output_id"]
    (place.project / "state.txt").write_text("the second answer\n")
    place.run(*command)

    def texts(*arguments):
        found = json.loads(place.run("search", "answer", "--json", *arguments).stdout)
        return " ".join(hit["text"] for hit in found["hits"])

    assert "second answer" in texts()
    assert "first answer" not in texts()
    assert "first answer" in texts("--source", first)
    listed = json.loads(place.run("kept", "ls", "--json").stdout)
    assert listed["total"] == 1
    assert json.loads(place.run("kept", "ls", "--all", "--json").stdout)["total"] == 2


def test_what_is_kept_can_be_listed_shown_copied_checked_and_forgotten(place, tmp_path):
    place.run("index", "docs")
    (listed,) = json.loads(place.run("kept", "ls", "--json").stdout)["sources"]
    assert (listed["label"], listed["kind"], listed["redactions"]) == ("guide.md", "markdown", 0)
    assert (
        place.run("kept", "show", "guide.md").stdout == b"# Guide\n\n## Retries\n\nA retry waits.\n"
    )
    assert place.run("kept", "show", listed["id"], "--lines", "3").stdout == b"## Retries\n"
    assert place.run("kept", "show", listed["id"], "--contents").stdout == b"1-5  Guide > Retries\n"
    assert json.loads(place.run("kept", "check", "--json").stdout) == {"ok": True, "problems": []}
    assert json.loads(place.run("kept", "size", "--json").stdout)["sources"] == 1
    copy = tmp_path / "copy.sqlite3"
    assert place.run("kept", "backup", copy).returncode == 0
    assert copy.stat().st_size > 0
    assert place.run("kept", "backup", copy).returncode == 2
    assert place.run("kept", "rm").returncode == 2
    assert place.run("kept", "rm", "--all").returncode == 2
    purged = json.loads(place.run("kept", "rm", "--source", "guide", "--json").stdout)
    assert (purged["sources"], set(purged)) == (1, {"sources", "chunks", "bytes"})
    assert json.loads(place.run("kept", "ls", "--json").stdout) == {"sources": [], "total": 0}


def test_what_a_project_may_not_grant_is_told_by_run_and_doctor(place):
    (place.project / ".ctxmode").mkdir()
    (place.project / ".ctxmode" / "config.toml").write_text(
        '[profiles.analyze]\nnetwork = ["evil.example"]\n'
    )
    done = place.run("run", "shell", "-c", "echo hi")
    assert (done.returncode, done.stdout) == (0, b"hi\n")
    assert b"a project cannot grant network" in done.stderr
    (place.project / ".claude").mkdir(exist_ok=True)
    settings = {"permissions": {"allow": ["Bash(ls *)"], "additionalDirectories": ["../docs"]}}
    (place.project / ".claude" / "settings.json").write_text(json.dumps(settings))
    of_config, of_rules = json.loads(place.run("doctor", "--json").stdout)["notices"]
    assert "a project cannot grant network" in of_config
    assert "additionalDirectories is Claude Code's own" in of_rules


def test_doctor_tells_of_hooks_that_codex_passes_over(place):
    assert json.loads(place.run("doctor", "--json").stdout)["notices"] == []
    place.run("setup", "codex", "--user")
    (notice,) = json.loads(place.run("doctor", "--json").stdout)["notices"]
    assert notice.startswith("Codex skips 6 of 6 hooks until you review them")


def test_nothing_is_counted_before_a_tool_is_called(place):
    assert place.run("kept", "stats").stdout.startswith(
        b"No tool was called in this project yet.\n"
    )
    counted = json.loads(place.run("kept", "stats", "--json").stdout)
    nothing = dict.fromkeys(("calls", "errors", "produced", "returned", "kept"), 0)
    assert counted["total"] == {**nothing, "reduction": None}


class Pages(http.server.BaseHTTPRequestHandler):
    """One page, whatever is asked for."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>Guide</h1><p>A retry waits.")

    def log_message(self, *arguments):
        pass


@pytest.fixture
def page():
    with http.server.HTTPServer(("127.0.0.1", 0), Pages) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/guide"
        server.shutdown()
        serving.join()


def test_a_page_is_fetched_once_and_found(place, page):
    refused = place.run("index", page, "--json")
    assert refused.returncode == 1
    assert "this machine" in json.loads(refused.stdout)["pages"][0]["error"]
    statuses = []
    for _ in range(2):
        done = place.run("index", page, "--json", CONTEXT_MODE_FETCH_PRIVATE="1")
        assert done.returncode == 0, done.stderr
        statuses.append(json.loads(done.stdout)["pages"][0]["status"])
    assert statuses == ["new", "cached"]
    assert place.run("kept", "show", page).stdout == b"# Guide\n\nA retry waits.\n"
    (hit,) = json.loads(place.run("search", "retry", "--json").stdout)["hits"]
    assert (hit["source"], hit["path"]) == (page, None)


def test_a_secret_in_a_file_is_neither_kept_nor_shown(place):
    (place.project / "docs" / "keys.md").write_text('# Keys\n\npassword = "kP9x2mQv7LzR4t"\n')
    (place.project / "docs" / ".env").write_text("TOKEN=x\n")
    answer = json.loads(place.run("index", "docs", "--json").stdout)
    assert answer["redactions"] == 1
    assert answer["left_out"] == [{"path": ".env", "reason": "named like a file of secrets"}]
    assert b"[REDACTED:password]" in place.run("kept", "show", "keys.md").stdout
    assert all(
        b"kP9x2mQv7LzR4t" not in path.read_bytes()
        for path in place.data.rglob("*")
        if path.is_file()
    )


def test_a_folder_is_watched_until_a_signal_ends_it(place):
    program = subprocess.Popen(
        [*place.command, "index", "docs", "--watch", "--json"],
        cwd=place.project,
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    watchdog = threading.Timer(100, program.kill)  # a notice that never comes must not hang
    watchdog.start()
    assert json.loads(program.stdout.readline())["files"] == 1
    # Made elsewhere and moved in, so that it is never seen half written.
    (place.project / "more.md").write_text("# More\n\nabout penguins\n")
    (place.project / "more.md").rename(place.project / "docs" / "more.md")
    assert json.loads(program.stdout.readline())["files"] == 1
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=60)
    watchdog.cancel()
    assert (program.returncode, err) == (130, b"")
    assert b"about penguins" in place.run("search", "penguins").stdout


def test_with_an_intent_only_what_matches_is_shown(place):
    done = place.run("run", "shell", "--intent", "needle", "-c", "cat app.log; echo the needle")
    assert b"the needle" in done.stdout
    assert b"request 17 ok" not in done.stdout


def test_files_and_stdin_become_searchable(place):
    indexed = place.run("index", "docs", "--json")
    assert json.loads(indexed.stdout)["files"] == 1, indexed.stderr
    place.run("index", "-", "--source", "notes", stdin=b"remember the milk\n")
    found = place.run("search", "retry waits", "milk")
    assert b"A retry waits." in found.stdout
    assert b"remember the milk" in found.stdout


def test_search_tells_nothing_indexed_from_no_match(place):
    assert b"Nothing is indexed" in place.run("search", "x").stdout
    place.run("index", "docs")
    assert b"No passage matches" in place.run("search", "zzyzx").stdout


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"label": "b", "command": "1", "language": "pyhton"}, "b: unknown language 'pyhton'"),
        ({"label": "b", "command": " "}, "b: the code is empty"),
    ],
)
def test_a_batch_with_a_command_that_cannot_be_run_runs_none(place, second, said):
    batch = {"profile": "build", "commands": ["touch ran", second]}
    done = place.run("run", "--batch", "-", stdin=json.dumps(batch).encode())
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"context-mode: {said}")
    assert not (place.project / "ran").exists()


def test_a_batch_shows_every_exit_code_and_answers_its_queries(place):
    batch = {
        "commands": ["echo the answer is 42", {"label": "bad", "command": "exit 7"}],
        "queries": ["answer"],
        "concurrency": 2,
    }
    done = place.run("run", "--batch", "-", "--json", stdin=json.dumps(batch).encode())
    data = json.loads(done.stdout)
    assert done.returncode == 1
    assert [c["result"]["exit_code"] for c in data["commands"]] == [0, 7]
    assert "the answer is 42" in data["queries"][0]["hits"][0]["text"]


def test_doctor_names_every_language_and_layer_and_exits_by_what_is_critical(place):
    (place.data / PROBES).unlink()  # it tries each language itself
    done = place.run("doctor", "--json")
    data = json.loads(done.stdout)
    assert done.returncode == (1 if data["critical"] else 0)
    assert len(data["languages"]) == len(LANGUAGES)
    for health in data["languages"].values():
        assert {"runnable", "path", "version", "start_ms", "reason", "hint"} <= set(health)
        assert health["runnable"] or (health["reason"] and health["hint"])
    for layer in data["isolation"]["layers"].values():
        assert {"active", "reason", "remedy"} <= set(layer)
        assert layer["active"] or layer["reason"]
    table = place.run("doctor")
    assert all(name.encode() in table.stdout for name in data["languages"])
    assert b"\x1b" not in table.stdout


def test_doctor_explains_what_keeps_the_project_from_opening(place):
    shutil.rmtree(place.data)
    place.data.write_text("a file where the folder should be")
    done = place.run("doctor", "--json")
    data = json.loads(done.stdout)
    assert done.returncode == 1
    assert "storage" in data["critical"]
    assert "isolation" not in data["critical"]
    assert "CONTEXT_MODE_DIR" in data["storage"]["remedy"]


def test_the_install_script_is_shell(place):
    script = place.run("doctor", "--install-script").stdout
    subprocess.run(["sh", "-n"], input=script, check=True)
    assert script.startswith(b"#!/bin/sh")


def test_try_proves_itself_on_real_input(place):
    done = place.run("try", "--json")
    trial = json.loads(done.stdout)
    assert (done.returncode, trial["problems"]) == (0, [])
    assert trial["input"]["bytes"] >= 1_000_000
    assert {"shell", "python", "perl"} <= {a["language"] for a in trial["answers"]}
    assert all(a["printed"] == str(a["expected"]) for a in trial["answers"])
    assert [s["correct"] for s in trial["listed"]["searches"]] == [True] * 3


def test_a_reader_that_has_seen_enough_ends_the_run(place):
    line = f"{' '.join(place.command)} run shell -c yes | head -n 1"
    done = subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        cwd=place.project,
        env=place.environment,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"y\n", b"")


def test_a_denied_run_says_which_rule_of_which_file(place):
    (place.project / ".claude").mkdir()
    rules = {"permissions": {"deny": ["Bash(sudo *)"]}}
    (place.project / ".claude" / "settings.json").write_text(json.dumps(rules))
    done = place.run("run", "shell", "-c", "echo x; sudo ls")
    assert (done.returncode, done.stdout) == (126, b"")
    assert b"Bash(sudo *) in .claude/settings.json:1" in done.stderr


def test_artifacts_are_put_where_asked_and_replace_nothing(place, tmp_path):
    out = tmp_path / "out"
    make = ("run", "shell", "-c", 'echo drawn > "$TMPDIR/plot.txt"; echo "$TMPDIR"')
    if place.run(*make).stdout != b"/tmp\n":
        pytest.skip("not applicable: tier B's scratch folder has another name every time")
    for _ in range(2):
        done = place.run(*make, "--artifact", "/tmp/*.txt", "--artifacts-dir", str(out))
        assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["plot-1.txt", "plot.txt"]
    assert (out / "plot.txt").read_text() == "drawn\n"
    done = place.run(*make, "--artifact", "*.png", "--artifact", "/tmp/*.txt")
    assert b"context-mode: no file matches --artifact '*.png'\n" in done.stderr


def test_what_tools_would_obey_is_handed_back_only_by_its_name(place):
    make = ("run", "shell", "-c", 'cd "$TMPDIR"; echo evil > .envrc; echo fine > fine.rc')
    done = place.run(*make, "--artifact", "*rc", "--artifact", ".*rc", "--json")
    told = {a["name"]: a for a in json.loads(done.stdout)["result"]["artifacts"]}
    assert told[".envrc"]["path"] is None
    assert "tools may run or load" in told[".envrc"]["reason"]
    assert (place.project / "fine.rc").read_text() == "fine\n"
    assert not (place.project / ".envrc").exists()
    done = place.run(*make, "--artifact", "*.rc", "--artifact", ".envrc")
    assert b".envrc (5 B) at" in done.stderr
    assert (place.project / ".envrc").read_text() == "evil\n"
