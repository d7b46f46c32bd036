"""The policy stands in front of every run: of its text, its script and the file bound to it."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

import policy
import runtimes
from executor import Caller, Request, RequestError, Status, open_engine
from executor.instance.child_processes import JUDGE
from executor.run import judging as judge
from policy.host.language import load_language
from policy.host.names import Names
from policy.host.tree import read_tree
from tests.samples import read_samples


@pytest.fixture
async def opened(project: Path, state_dir: Path, tmp_path: Path):
    """An executor under the project's rules, which are read anew for each request."""
    rules = partial(policy.load_rules, project, home=tmp_path / "home")
    async with open_engine(
        project=project, state_dir=state_dir, rules=rules, home=Path.home()
    ) as executor:
        yield executor


@pytest.fixture
def guarded(opened):
    async def run(request: Request):
        return (await opened.run(request)).result

    run.lose_judges = opened._judges.end
    return run


def write_rules(project: Path, **rules: list[str]) -> None:
    folder = project / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"permissions": rules}))


def deny(project: Path, *rules: str) -> None:
    write_rules(project, deny=list(rules))


async def test_a_rule_holds_from_the_moment_it_is_written(guarded, project: Path):
    request = Request("shell", "id -u >/dev/null && echo ran")
    assert (await guarded(request)).stdout.text == "ran\n"
    deny(project, "Bash(id *)")
    denied = await guarded(request)
    assert (denied.status, denied.stdout.text) == (Status.DENIED, "")
    assert "Bash(id *)" in denied.message
    assert "settings.json" in denied.message


@pytest.mark.parametrize(
    "request_of",
    [
        lambda: Request("shell", "cat notes.txt"),
        lambda: Request("python", "print(open('notes.txt').read())"),
        lambda: Request("python", "print(FILE_CONTENT)", bind_file="notes.txt"),
        lambda: Request("python", "print(FILE_CONTENT)", bind_file="link.txt"),
        lambda: Request("shell", path="notes.txt"),
    ],
)
async def test_a_file_that_may_not_be_read_is_not_reached_in_any_way(
    request_of, guarded, project: Path
):
    (project / "notes.txt").write_text("echo canary\n")
    (project / "link.txt").symlink_to("notes.txt")
    assert "canary" in (await guarded(request_of())).stdout.text  # the control
    deny(project, "Read(./notes.txt)")
    denied = await guarded(request_of())
    assert (denied.status, denied.stdout.text) == (Status.DENIED, "")


# By language: what starts `rm -rf build` with what a bare snippet may use, and what does not.
SNIPPETS = read_samples("starts_rm")
WRITES_BOUND = read_samples("writes_bound")
WAYS = [{}, {"background": True}, {"session": "s"}, {"session": "s", "interactive": True}]
IMPORTS = re.compile(r'\b(?:import|using)(?: namespace)? "?([\w./]+?)(?:\.\*)?"?;')


async def judged(engine, request: Request) -> tuple[str, list[str]]:
    """Return how a request is judged, and the pieces of its program that rules spoke about."""
    found = await engine.judge(request, Caller())
    if not hasattr(found, "result"):
        return "runs", []
    places = [match["span"] for match in found.result.verdict["matches"]]
    return "denied", [(request.code or "").encode()[slice(*span)].decode() for span in places]


@pytest.mark.parametrize("name", [row.name for row in runtimes.LANGUAGES])
async def test_a_bare_snippet_is_judged_as_it_runs(name: str, opened, project: Path):
    (project / "guarded.txt").write_text("")
    bound = Request(name, WRITES_BOUND[name], bind_file="guarded.txt")
    asked = [
        (program, Request(name, program[0], **way)) for program in SNIPPETS[name] for way in WAYS
    ]
    assert [await judged(opened, one) for _, one in asked] == [("runs", [])] * len(asked)
    assert await judged(opened, bound) == ("runs", [])
    deny(project, "Bash(rm -rf *)", "Edit(./guarded.txt)")
    for program, request in asked:
        word, pieces = await judged(opened, request)
        assert (word, len(pieces)) == ("denied", 1), request
        assert pieces[0] in program[0]
    for _, harmless in SNIPPETS[name]:
        assert await judged(opened, Request(name, harmless)) == ("runs", [])
    assert (await judged(opened, bound))[0] == "denied"


@pytest.mark.parametrize("name", [row.name for row in runtimes.LANGUAGES])
def test_what_a_wrapper_imports_is_known_to_the_guard(name: str):
    from runtimes.languages.go.row import STANDARD

    used = {name: f"{name}.X()" for name in STANDARD} if name == "go" else {"": ";"}
    complete = runtimes.completion(runtimes.language(name), is_script=False)
    for short, code in used.items():
        for text in complete(code) if complete else ():
            tree = read_tree(load_language(name), text)
            known = Names(tree)
            imported = IMPORTS.findall(text)
            assert short == "" or imported == [STANDARD[short]]
            bound = [one.dotted for of_name in known.bindings.values() for one in of_name]
            assert set(imported) <= {*bound, *known.wildcards}
            assert all(short in known.bindings for _ in imported if short)


async def test_a_denied_snippet_does_not_run(guarded, project: Path):
    (project / "build").mkdir()
    request = Request("go", 'exec.Command("rm", "-rf", "build").Run()', profile="build")
    try:
        assert (await guarded(request)).ok
    except RequestError as error:
        pytest.skip(str(error))
    assert not (project / "build").exists()  # the control
    (project / "build").mkdir()
    deny(project, "Bash(rm -rf *)")
    assert (await guarded(request)).status is Status.DENIED
    assert (project / "build").is_dir()


async def test_nothing_runs_while_a_rule_file_is_broken(guarded, project: Path):
    deny(project, "Bash(id *)")
    (project / ".claude" / "settings.json").write_text("{ broken")
    with pytest.raises(policy.RuleFileError):
        await guarded(Request("shell", "echo ran"))


async def test_a_rule_that_asks_is_refused_where_nobody_can_be_asked(opened, project: Path):
    write_rules(project, ask=["Bash(id *)"])
    result = (await opened.run(Request("shell", "id -u"))).result
    assert (result.status, result.verdict["consent"]) == (Status.DENIED, None)


@pytest.mark.parametrize(
    ("consent", "status"), [(True, Status.OK), (False, Status.DENIED), (None, Status.DENIED)]
)
async def test_a_person_decides_where_a_rule_asks(opened, project: Path, consent, status):
    write_rules(project, ask=["Bash(id *)"])
    asked = []

    async def ask(verdict):
        asked.append(verdict["message"])
        return consent

    caller = Caller(consent=ask)
    result = (await opened.run(Request("shell", "id -u"), caller=caller)).result
    assert result.status is status
    assert result.verdict["consent"] is consent
    assert "Bash(id *)" in asked[0]


async def test_nobody_is_asked_about_what_is_denied_or_allowed(opened, project: Path):
    write_rules(project, deny=["Bash(id *)"], ask=["Bash(id *)"])

    async def ask(verdict):
        raise AssertionError(verdict)

    caller = Caller(consent=ask)
    assert (await opened.run(Request("shell", "id"), caller=caller)).result.status is Status.DENIED
    assert (await opened.run(Request("shell", "true"), caller=caller)).result.status is Status.OK


REDIRECT = """
[[rule]]
id = "no-cat"
decision = "redirect"
commands = ["cat big.log"]
advice = "Ask it a question."
[rule.redirect]
tool = "ctx_execute_file"
arguments = { path = "big.log" }
"""


async def test_a_redirect_is_a_result_of_its_own_for_who_has_the_tool(opened, project: Path):
    (project / ".ctxmode").mkdir()
    (project / ".ctxmode" / "policy.toml").write_text(REDIRECT)
    (project / "big.log").write_text("line\n")
    request = Request("shell", "cat big.log")
    caller = Caller(frozenset({"ctx_execute_file"}))
    result = (await opened.run(request, caller=caller)).result
    assert result.status is Status.REDIRECTED
    assert result.verdict["redirect"] == {
        "tool": "ctx_execute_file",
        "arguments": {"path": "big.log"},
        "advice": "Ask it a question.",
    }
    assert (await opened.run(request)).result.stdout.text == "line\n"


# What is read is found at run time: no analysis of the text knows its name.
READ_ALL = """
import os, sys
for folder, _, files in os.walk("."):
    for name in files:
        try:
            sys.stdout.write(open(os.path.join(folder, name)).read())
        except OSError:
            pass
"""


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("Read(./notes.txt)", "inside"),
        ("Read(*.txt)", ""),
        ("Read(./private/**)", "outside"),
        ("Read(private/)", "outside"),
        ("Read(./private/a.txt)", "outside"),
    ],
)
async def test_what_may_not_be_read_is_hidden_from_programs_that_nobody_sees_through(
    guarded, project: Path, rule: str, left: str
):
    (project / "notes.txt").write_text("outside")
    (project / "private").mkdir()
    (project / "private" / "a.txt").write_text("inside")
    request = Request("python", READ_ALL)
    before = (await guarded(request)).stdout.text
    assert "outside" in before
    assert "inside" in before
    deny(project, rule)
    result = await guarded(request)
    assert result.status is Status.OK
    assert {word for word in ("outside", "inside") if word in result.stdout.text} == {*left.split()}


async def test_a_rule_that_denies_the_whole_project_refuses_every_run(guarded, project: Path):
    deny(project, f"Read(/{project}/**)")
    with pytest.raises(RequestError) as refused:
        await guarded(Request("shell", "true"))
    assert "policy list" in refused.value.hint


async def test_a_text_that_holds_up_its_judge_is_refused_and_the_server_goes_on(
    guarded, project: Path, monkeypatch
):
    """The stand-in is a program that loops in C, as scanners of grammars have done."""
    deny(project, "Read(.env)")
    held_up = (
        "import itertools\nfrom executor.run import judge_process\nfrom policy import judging\n"
        "judge_process.SECONDS = 0.2\n"
        "judging.judge = lambda *_: sum(itertools.repeat(0))\n"
    )
    serve = "serve(int(sys.argv[1]))\n"
    code = JUDGE[0][1].replace(serve, held_up + serve)
    with monkeypatch.context() as patched:
        patched.setattr(judge, "JUDGE", (("-c", code), *JUDGE[1:]))
        # The one that waits is the usual one; it is lost, and the next is held up.
        first = await guarded(Request("shell", "echo ran"))
        await guarded.lose_judges()
        refused = await guarded(Request("shell", "echo ran"))
    assert first.status is Status.OK
    assert refused.status is Status.DENIED
    assert "too large to be understood" in refused.message
    await guarded.lose_judges()
    assert (await guarded(Request("shell", "echo ran"))).stdout.text == "ran\n"
