"""Pipelines as a CI job runs them."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from ctxmode.pipelines.cache import CaseCache
from ctxmode.pipelines.model import CaseStatus, Outcome
from tests.ctxmode.runner_logs import COMMANDS, github, list_commands

PIPELINE = """\
[[step]]
name = "make"
language = "shell"
matrix = { n = [1, 2] }
inputs = ["data.txt"]
code = 'echo "$MATRIX_N {matrix.n}" > made.txt; cat data.txt'
artifacts = ["made.txt"]

[[step]]
name = "use"
script = "use.py"
needs = ["make"]

[[step]]
name = "refuses"
language = "shell"
code = "echo expected >&2; exit 3"
expect_exit = 3

[[step]]
name = "breaks"
language = "shell"
code = 'seq 100; echo it broke >&2; test -e mended'

[[step]]
name = "after"
language = "shell"
code = "echo ran"
needs = ["breaks"]
"""
USE = """\
import glob, os
for path in sorted(glob.glob(os.environ["CI_ARTIFACTS"] + "/make*/*")):
    print(open(path).read().strip())
"""


@pytest.fixture
def project(place):
    (place.project / "pipeline.toml").write_text(PIPELINE)
    (place.project / "use.py").write_text(USE)
    (place.project / "data.txt").write_text("one\n")
    return place.project


def cases(done) -> dict[str, tuple[str, str]]:
    found = json.loads(done.stdout)["cases"]
    return {case["name"]: (case["verdict"], case["source"]) for case in found}


def test_a_pipeline_runs_reports_and_goes_on_from_its_failures(place, project):
    first = place.run("ci", "pipeline.toml", "--json", "--cache")
    assert first.returncode == 1, first.stderr
    assert cases(first) == {
        "make (n=1)": ("passed", "run"),
        "make (n=2)": ("passed", "run"),
        "use": ("passed", "run"),
        "refuses": ("passed", "run"),
        "breaks": ("failed", "run"),
        "after": ("skipped", "run"),
    }
    by_name = {case["name"]: case for case in json.loads(first.stdout)["cases"]}
    assert by_name["use"]["output"] == "1 1\n2 2"
    assert by_name["after"]["reason"] == "it needs breaks"
    folder = project / ".ctxmode-ci"
    assert json.loads((folder / "report.json").read_bytes())["ok"] is False
    assert ElementTree.parse(folder / "junit.xml").getroot()[0].get("failures") == "1"
    assert "| breaks | FAILED |" in (folder / "report.md").read_text()

    assert (folder / ".gitignore").read_text() == "*\n"

    page = project.parent / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}
    again = place.run("ci", "pipeline.toml", **github)
    text = again.stdout.decode()
    assert page.read_text() == (folder / "report.md").read_text()
    assert "Reports: .ctxmode-ci/report.md" in text
    assert "::error file=pipeline.toml,line=20,title=breaks::" in text
    assert "it broke" in text
    assert "\n12\n" not in text  # not all that it printed
    assert "sandbox tier" in text

    (project / "mended").touch()
    rerun = place.run("ci", "pipeline.toml", "--json", "--rerun-failed")
    assert rerun.returncode == 0, rerun.stderr
    assert cases(rerun)["make (n=1)"] == ("passed", "before")
    assert cases(rerun)["breaks"] == cases(rerun)["after"] == ("passed", "run")

    (project / "data.txt").write_text("two\n")
    cached = cases(place.run("ci", "pipeline.toml", "--json", "--cache"))
    assert cached["make (n=1)"] == ("passed", "run")  # its input has changed
    assert cached["refuses"] == ("passed", "run")  # and it may read all of the project
    cached = cases(place.run("ci", "pipeline.toml", "--json", "--cache"))
    assert set(cached.values()) == {("passed", "cache")}


def test_a_step_without_inputs_runs_again_when_the_project_has_changed(place):
    (place.project / "pipeline.toml").write_text(
        '[[step]]\nname = "check"\nlanguage = "shell"\ncode = "grep -q good state.txt"\n'
    )
    seen = []
    for state in ("good", "good", "broken", "broken", "good"):
        (place.project / "state.txt").write_text(state)
        seen.append(cases(place.run("ci", "pipeline.toml", "--json", "--cache"))["check"])
    assert seen == [
        ("passed", "run"),
        ("passed", "cache"),
        ("failed", "run"),
        ("failed", "run"),
        ("passed", "cache"),
    ]


CONDITIONS = {
    "a rule": (".claude/settings.json", '{"permissions": {"deny": ["Bash(echo *)"]}}'),
    "a profile": (".ctxmode/config.toml", '[profiles.analyze]\nproject = "read_only"\n'),
    "a limit": ("pipeline.toml", "limits = { open_files = 64 }"),
    "a deadline": ("pipeline.toml", "timeout_s = 60"),
}


@pytest.mark.parametrize("changed", CONDITIONS)
def test_a_step_with_inputs_runs_again_under_other_conditions(place, changed):
    step = '[[step]]\nname = "a"\nlanguage = "shell"\ncode = "echo hi"\ninputs = ["app.log"]\n'
    (place.project / "pipeline.toml").write_text(step)
    once, twice = (cases(place.run("ci", "pipeline.toml", "--json", "--cache")) for _ in range(2))
    assert (once["a"][1], twice["a"][1]) == ("run", "cache")
    name, text = CONDITIONS[changed]
    (place.project / name).parent.mkdir(exist_ok=True)
    (place.project / name).write_text(step + text if name == "pipeline.toml" else text)
    done = place.run("ci", "pipeline.toml", "--json", "--cache")
    assert cases(done)["a"][1] == "run", done.stderr


def test_a_step_that_changes_the_project_is_never_taken_from_the_cache(place):
    (place.project / "pipeline.toml").write_text(
        '[[step]]\nname = "a"\nlanguage = "shell"\nprofile = "build"\n'
        'code = "echo hi > made.txt"\ninputs = ["app.log"]\n'
    )
    for _ in range(2):
        done = place.run("ci", "pipeline.toml", "--json", "--cache")
        assert cases(done) == {"a": ("passed", "run")}, done.stderr
        (place.project / "made.txt").unlink()


def test_a_case_that_does_not_hand_back_what_it_says_has_failed(place):
    (place.project / "pipeline.toml").write_text(
        '[[step]]\nname = "a"\nlanguage = "shell"\ncode = "echo 1 > $TMPDIR/there.txt"\n'
        'artifacts = ["there.txt", "gone/*.txt"]\n'
    )
    done = place.run("ci", "pipeline.toml", "--json")
    (case,) = json.loads(done.stdout)["cases"]
    assert done.returncode == 1
    assert case["reason"].endswith("; not returned: gone/*.txt")
    assert [path.rpartition("/")[2] for path in case["artifacts"]] == ["there.txt"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gone.toml",), "no such file"),
        (("pipeline.toml", "--jobs", "0"), "1 to 64"),
        (("pipeline.toml", "--reports", "../elsewhere"), "below the project"),
        (("pipeline.toml", "--rerun-failed"), "no report"),
    ],
)
def test_what_cannot_be_run_is_told(place, project, arguments, said):
    done = place.run("ci", *arguments)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_a_pipeline_comes_by_stdin(place):
    pipeline = b'[[step]]\nname = "a"\nlanguage = "shell"\ncode = "echo here; exit 4"\n'
    done = place.run("ci", "-", "--github", stdin=pipeline)
    assert done.returncode == 1
    assert "::error file=stdin,line=1,title=a::" in done.stdout.decode()
    wrong = place.run("ci", "-", stdin=b"[[step]]\nname = 3\n")
    assert wrong.stderr.decode().startswith("context-mode: stdin:2: invalid name 3\n")
    assert "stdin is not UTF-8" in place.run("ci", "-", stdin=b"\xff").stderr.decode()


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ('code = "1"\nprofile = "biuld"', "9: b: unknown profile 'biuld'\n  Did you mean build?"),
        ('code = " "', "9: b: the code is empty"),
        ('code = "1"\nenv = { "A=B" = "1" }', "9: b: 'A=B' holds a NUL byte or a misplaced ="),
        ('code = "1"\nargs = ["{matrix.x}"]', "13: no 'x' in the step's matrix"),
    ],
)
def test_a_late_step_that_cannot_be_run_is_told_before_the_first_runs(place, last, said):
    (place.project / "pipeline.toml").write_text(
        'profile = "build"\n\n[[step]]\nname = "a"\nlanguage = "shell"\ncode = "touch ran"\n\n\n'
        f'[[step]]\nname = "b"\nlanguage = "shell"\n{last}\nneeds = ["a"]\n'
    )
    done = place.run("ci", "pipeline.toml")
    assert done.returncode == 2
    assert f"pipeline.toml:{said}" in done.stderr.decode()
    assert not (place.project / "ran").exists()


def test_a_report_that_cannot_be_written_is_told_before_anything_runs(place, project):
    (project / "taken").touch()
    done = place.run("ci", "pipeline.toml", "--reports", "taken")
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[0].endswith("taken: not a directory")


@pytest.mark.parametrize("planted", ["report.md", "junit.xml", ".gitignore", "artifacts", ""])
def test_no_link_of_a_project_is_written_through(planted, place, project, tmp_path):
    victim = tmp_path / "victim"
    if planted in ("artifacts", ""):
        (victim / "make-1").mkdir(parents=True)
        (victim / "make-1" / "mine").touch()
    else:
        victim.write_text("mine")
    at = project / ".ctxmode-ci" / planted
    at.parent.mkdir(exist_ok=True)
    at.symlink_to(victim)
    done = place.run("ci", "pipeline.toml")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"link" in done.stderr + done.stdout
    if victim.is_dir():
        assert [path.name for path in victim.rglob("*")] == ["make-1", "mine"]
    else:
        assert victim.read_text() == "mine"


def test_the_cache_keeps_no_content_that_a_link_leads_to(tmp_path):
    folder, secret = tmp_path / "reports" / "case", tmp_path / "secret"
    folder.mkdir(parents=True)
    secret.write_text("secret")
    (folder / "fine").write_text("fine")
    outcome = Outcome("n", "n", 1, CaseStatus.PASSED, artifacts=(str(folder / "fine"),))
    cache = CaseCache(tmp_path / "cache", tmp_path)
    cache.store("control", outcome, folder)
    assert cache.load("control", folder) is not None
    assert (folder / "fine").read_text() == "fine"
    (folder / "fine").unlink()
    (folder / "fine").symlink_to(secret)
    cache.store("key", outcome, folder)
    assert cache.load("key", folder) is None
    assert b"secret" not in b"".join(p.read_bytes() for p in cache_files(tmp_path))


def cache_files(tmp_path):
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


OBEYED = "\n".join(COMMANDS.values())
FAILS = """\
[[step]]
name = "loud ::add-mask::x"
language = "python"
code = '''
import sys
text = open("commands.txt", newline="").read()
sys.stdout.write(text)
sys.stderr.write(text)
sys.exit(1)
'''
"""
RUNNERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION", "CI")


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_step_s_output_commands_no_runner_and_our_annotations_do(place, runner):
    (place.project / "pipeline.toml").write_text(FAILS)
    (place.project / "commands.txt").write_text(OBEYED, newline="")
    done = place.run("ci", "pipeline.toml", **{runner: "true"})
    assert list_commands(done.stderr.decode()) == []
    log = done.stdout.decode()
    if runner == "GITHUB_ACTIONS":
        (ours,) = github(log)
        assert ours.startswith("error:")
    else:
        assert list_commands(log) == []


@pytest.mark.parametrize("runner", RUNNERS)
def test_what_runs_print_and_what_is_kept_commands_no_runner(place, runner):
    (place.project / "commands.txt").write_text(OBEYED, newline="")
    code = "import sys; t = open('commands.txt', newline='').read()\n"
    code += "sys.stdout.write(t); sys.stderr.write(t)"
    place.run("index", "commands.txt")
    for words in (
        ("run", "python", "-c", code),
        ("run", "--json", "python", "-c", code),
        ("kept", "show", "commands.txt"),
        ("run", "--batch", "-"),
    ):
        stdin = b'["cat commands.txt"]'
        control = place.run(*words, stdin=stdin)
        assert b"add-mask" in control.stdout, control.stderr
        done = place.run(*words, stdin=stdin, **{runner: "true"})
        assert list_commands(done.stdout.decode()) == [], words
        assert list_commands(done.stderr.decode()) == [], words
        if "--json" in words:
            was, shown = (json.loads(one.stdout)["result"]["stdout"] for one in (control, done))
            assert shown["head"] == was["head"]


SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
KEY_LINES = (
    "-----BEGIN PRIVATE KEY-----",
    *["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 40,
)
HOLDS_SECRETS = f"""\
[[step]]
name = "fails"
language = "shell"
matrix = {{ token = ["{SECRET}"] }}
code = "cat key.txt; echo {SECRET} >&2; touch {SECRET}.txt; exit 1"
artifacts = ["gone-{SECRET}"]

[[step]]
name = "passes"
language = "shell"
code = "echo password={SECRET}"

[[step]]
name = "after {SECRET}"
language = "shell"
code = "echo"
needs = ["fails"]
"""


def test_nothing_that_ci_writes_holds_a_secret(place):
    key = "\n".join((*KEY_LINES, "-----END PRIVATE KEY-----\n"))
    (place.project / "key.txt").write_text(key)
    (place.project / "pipeline.toml").write_text(HOLDS_SECRETS)
    page = place.project.parent / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}
    done = [
        place.run("ci", "pipeline.toml", *options, **github)
        for options in (("--cache",), ("--json", "--cache"), ("--rerun-failed",))
    ]
    folder = place.project / ".ctxmode-ci"
    files = [page, *(folder / name for name in ("report.json", "report.md", "junit.xml"))]
    texts = [file.read_text() for file in files]
    texts += [stream.decode() for one in done for stream in (one.stdout, one.stderr)]
    for text in texts:
        assert SECRET not in text
        assert "MIIEvQIBADANBgkqhkiG9w0BAQEF" not in text
    assert all("[REDACTED:" in text for text in texts[:4])
    kept = b"".join(path.read_bytes() for path in (place.data / "state" / "ci").rglob("outcome*"))
    assert SECRET.encode() not in kept
    assert b"[REDACTED:" in kept


def test_an_error_in_a_pipeline_shows_no_secret(place):
    step = (
        f'[[step]]\nname = "a"\nlanguage = "shell"\ncode = "1"\nenv = {{ T = "{SECRET}", N = 1 }}'
    )
    (place.project / "pipeline.toml").write_text(step)
    done = place.run("ci", "pipeline.toml")
    assert done.returncode == 2
    assert "invalid env" in done.stderr.decode()
    assert SECRET not in done.stderr.decode()
