"""What patterns and recursions touch, told from the folder that is really there."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import Decision, Rules, Subject
from policy.claude import Anchors, parse_rule
from policy.decide import evaluate, evaluate_search
from policy.matching import Folders
from policy.model import RuleSource

DENIED = ("Read(./.env)", "Read(./.env.*)", "Read(./secrets/**)", "Read(./config/credentials.json)",
          "Read(*.pem)", "Read(~/.ssh/**)")  # fmt: skip
FILES = ("src/a.ts", "src/b/c.py", "docs/a.md", "config/app.json", "notes.txt")
HELD = (".env", "secrets/key", "config/credentials.json")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in FILES:
        file = tmp_path / "home" / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    return tmp_path / "home" / "project"


def hold(project: Path, *names: str) -> None:
    for name in names:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")


def rules(project: Path, decision: Decision = Decision.DENY, texts: tuple[str, ...] = DENIED):
    anchors = Anchors(str(project.parent), str(project), str(project))
    parsed = (parse_rule(text, decision, RuleSource("s.json", 1), anchors)[0] for text in texts)
    return Rules(tuple(rule for rule in parsed if rule is not None))


def verdict(project: Path, code: str, some: Rules | None = None, **more):
    more = {"folders": Folders(), "surface": "agent_shell"} | more
    surface = more.pop("surface")
    subject = Subject(
        "shell", code, str(project), str(project), str(project.parent), surface=surface
    )
    return evaluate(subject, some or rules(project), **more)


RECURSIONS = (
    "grep -rn TODO .", "grep -r TODO", "rg TODO", "ag TODO", "rg --hidden TODO .",
    "find . -type f | xargs grep TODO", "find . -exec grep TODO {} +", "cat $(find . -type f)",
    "tar czf /tmp/x.tgz .", "cp -r . /tmp/x", "zip -r /tmp/x.zip .", "rsync -a . /tmp/dst",
    "chmod -R u+w .", "grep -rn TODO ~",
)  # fmt: skip


@pytest.mark.parametrize("code", RECURSIONS)
def test_a_recursion_is_redirected_where_a_denied_file_is_there_and_else_passed_over(
    project: Path, code: str
) -> None:
    assert verdict(project, code).allowed
    hold(project, ".env")
    found = verdict(project, code)
    assert found.decision is Decision.REDIRECT, found
    assert found.redirect is not None
    assert dict(found.redirect.arguments) == {"language": "shell", "code": code}
    assert f"{project}/.env" in {match.path for match in found.matches}


@pytest.mark.parametrize(
    "code",
    [
        "grep -rn TODO src", "rg TODO docs", "git grep TODO", "rg --files", "ls -R .", "du -sh *",
        "grep -rn TODO . --include='*.ts'", "rg -t py TODO", "rg -g '*.md' TODO",
        "find . -name '*.py' | xargs grep TODO", "find . -name '*.py' -exec cat {} +",
        "find . -name '*.[ch]' -exec rm {} +", "cat src/**/*.ts", "cat *.md", "cat *",
        "cat src/*", "for f in *; do cat \"$f\"; done",
        "for f in src/*; do cat \"$f\"; done", "mv x/* /",
        "cp -r src /tmp/x", "sed -i s/a/b/ src/*.ts", "rm -rf src/*", "cp -a src ~/",
        "cat x | rg y",
        "grep -rn x . --exclude=.env --exclude-dir=secrets --exclude-dir=config",
    ],
)  # fmt: skip
def test_what_cannot_meet_a_denied_file_is_passed_over(project: Path, code: str) -> None:
    hold(project, ".env", "config/credentials.json", "../.ssh/id")
    found = verdict(project, code)
    assert found.allowed, found


@pytest.mark.parametrize(
    "code",
    [
        "grep -rn x --exclude='.env*' --exclude-dir='s*' --exclude=credentials.json .",
        "grep -rn x --exclude=.e* --exclude-dir={secrets,config} .",
        "rg x -g '!.env*' -g '!secrets/' -g '!config/credentials.json'",
        "rg x --glob='!.env*' --glob='!**/secrets/**' -g '!config'",
        "rg x -g '*.json' -g '!secrets/**' -g '!config'",
        "ag --ignore secrets --ignore config --ignore '.env*' x",
        "tar czf /tmp/x.tgz --exclude='.env*' --exclude=secrets --exclude=./config .",
        "rsync -a --exclude '.env*' --exclude /secrets/ --exclude config ./ /tmp/x",
        "zip -r /tmp/x.zip . -x '.env*' 'secrets/*' '*/credentials.json'",
    ],
)
def test_what_a_program_is_told_to_leave_out_is_passed_over(project: Path, code: str) -> None:
    hold(project, ".env", "secrets/key", "config/credentials.json")
    found = verdict(project, code)
    assert found.allowed, found


@pytest.mark.parametrize(
    "code",
    [
        "grep -rn x --exclude=secrets --exclude=config --exclude=.env .",  # of files alone
        "grep -rn x --exclude-dir=.env --exclude-dir=secrets --exclude-dir=config .",
        "grep -rn x --exclude=./.env --exclude-dir=secrets --exclude-dir=config .",
        "grep -rn x --exclude='.*' --include='*env' --exclude-dir=secrets --exclude-dir=config .",
        "grep -rn x --exclude='*.log' --exclude-dir=node_modules .",
        "rg x -g '!.env' -g '!secrets' -g '!config' -g '*'",
        "rg x -g '!secrets' -g '!config' -g '!.env.*'",
        "rg x -g '!src/secrets/**' -g '!.env' -g '!config'",
        "cd src && rg x -g '!secrets/**' -g '!.env' -g '!config' ..",
        "rsync -a --include=.env --exclude='.*' --exclude=secrets --exclude=config ./ /tmp/x",
        'tar czf /tmp/x.tgz --exclude=./secrets --exclude=.env --exclude=config "$PWD"',
        "zip -r /tmp/x.zip . -x 'node_modules/*' '*.log' .env 'secrets/*'",
        "zip -r /tmp/x.zip . -x .env 'config/*' -r src secrets",
        "zip -r /tmp/x.zip . -x '*.log' -i .env",
    ],
)
def test_what_is_left_out_is_left_out_by_the_programs_own_terms(project: Path, code: str) -> None:
    hold(project, ".env", "secrets/key", "config/credentials.json")
    assert not verdict(project, code).allowed


def test_what_is_redirected_runs_in_the_folder_that_it_was_to_run_in(project: Path) -> None:
    hold(project, ".env")
    for cwd, expected in ((project / "src", "src"), (project, None), (project.parent, None)):
        subject = Subject(
            "shell",
            f"grep -rn TODO {project}",
            str(cwd),
            str(project),
            str(project.parent),
            surface="agent_shell",
        )
        found = evaluate(subject, rules(project), folders=Folders())
        assert found.redirect is not None
        assert found.redirect.arguments.get("cwd") == expected


@pytest.mark.parametrize(
    ("code", "file"),
    [
        ("cat .e*", ".env"),
        ("cat .??v", ".env"),
        ("cat config/*", "config/credentials.json"),
        ("cat */*.json", "config/credentials.json"),
        ("cat s*/*", "secrets/key"),
        ("rg -g '.e*' X", ".env"),
        ("find . -name '.e*' | xargs cat", ".env"),
        ("rm -rf *", "secrets/key"),
        ("sed -i s/a/b/ **/*.json", "config/credentials.json"),
        ("for f in .*; do cat $f; done", ".env"),
        ("cat ../.s*/*", "../.ssh/id"),
    ],
)
def test_a_pattern_is_redirected_where_it_meets_a_denied_file(
    project: Path, code: str, file: str
) -> None:
    assert verdict(project, code).allowed
    hold(project, *HELD, "../.ssh/id")
    found = verdict(project, code)
    assert found.decision is Decision.REDIRECT, found
    assert file.removeprefix("../") in found.message


@pytest.mark.parametrize(
    "code", ["cat secrets/*", "cat .env", "cp -r secrets /tmp", "cat ~/.ssh/*",
             "cat src/*.pem", "wc -l **/*.pem", "rm -rf secrets", "grep -rn . secrets/",
             "cat $D/.env"]
)  # fmt: skip
def test_what_a_rule_covers_for_certain_is_denied_whatever_is_there(
    project: Path, code: str
) -> None:
    assert verdict(project, code).decision is Decision.DENY
    assert verdict(project, code, folders=None).decision is Decision.DENY
    assert verdict(project, code, surface="sandbox").decision is Decision.DENY


@pytest.mark.parametrize("code", [*RECURSIONS, "cat .e*", "rm -rf *", "cat config/*"])
def test_in_the_sandbox_nothing_is_said_as_the_file_is_covered_there(
    project: Path, code: str
) -> None:
    hold(project, *HELD)
    assert verdict(project, code, surface="sandbox").allowed


def test_without_folders_only_a_pattern_about_a_denied_file_is_redirected(project: Path) -> None:
    def decisions(*codes: str) -> set[Decision]:
        return {verdict(project, code, folders=None).decision for code in codes}

    assert decisions("cat .e*", "cat config/*", "cat sec*/x") == {Decision.REDIRECT}
    assert decisions(*RECURSIONS, "cat *", "wc -l **/*.ts", "cat $D/*") == {Decision.ALLOW}


def test_a_rule_that_asks_asks_where_the_file_is_there(project: Path) -> None:
    asking = rules(project, Decision.ASK)
    assert verdict(project, "cat .e*", asking).allowed
    hold(project, ".env")
    assert verdict(project, "cat .e*", asking).decision is Decision.ASK
    assert verdict(project, "cat .e*", asking, surface="sandbox").decision is Decision.ASK


def test_a_redirect_never_hides_a_denial_and_needs_its_tool(project: Path) -> None:
    hold(project, ".env")
    assert verdict(project, "grep -r x .; cat .env").decision is Decision.DENY
    assert verdict(project, "grep -r x .", tools=("ctx_search",)).allowed
    assert verdict(project, "cat .e*", tools=("ctx_search",)).decision is Decision.DENY


def test_a_link_is_not_followed_out_of_a_folder(project: Path, tmp_path: Path) -> None:
    hold(project, "../elsewhere/x.pem")
    (project / "src" / "out").symlink_to(tmp_path / "home" / "elsewhere")
    assert verdict(project, "grep -rn x .").allowed
    hold(project, "src/x.pem")
    assert verdict(project, "grep -rn x .").decision is Decision.REDIRECT


def test_a_file_name_with_pattern_characters_is_itself(project: Path) -> None:
    hold(project, "[a]*.pem")
    assert verdict(project, "head [a]*").allowed  # in a shell `[a]` is an `a`
    assert verdict(project, "head '['*").decision is Decision.REDIRECT


def test_a_hosts_own_search_is_judged_like_one_by_command(project: Path) -> None:
    def search(path: str, *, is_tree: bool = True, **more):
        return evaluate_search(
            path, rules(project), is_tree=is_tree, folders=Folders(), **more
        ).decision

    assert search(str(project)) is Decision.ALLOW
    hold(project, ".env")
    assert search(str(project)) is Decision.REDIRECT
    assert search(f"{project}/src") is Decision.ALLOW
    assert search(f"{project}/**/*.ts", is_tree=False) is Decision.ALLOW
    assert search(f"{project}/.env*", is_tree=False) is Decision.REDIRECT
    assert search(f"{project}/secrets") is Decision.DENY
    assert search(str(project), tools=()) is Decision.ALLOW
