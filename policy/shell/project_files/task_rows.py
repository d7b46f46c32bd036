"""Runners whose tasks stand under their names in a data file, as rows."""

from __future__ import annotations

from typing import NamedTuple

from base.wordlist import words


class TaskFile(NamedTuple):
    """Where a runner's tasks stand, and how its command line names them.

    A `place` is a path of keys, or `*` and what has to be worked out. `verbs` come before a name,
    `-` says that none may. `takes` is what names tasks: the first operand, behind which all is
    passed on (`one`), or the tool's options stand too (`loose`); every operand, with options
    between them (`all`) or not (`each`); no operand (`none`). `option` names them as well.
    `default` is the task where none is named: `*` all, `first` the first. `values` are the options
    with a value. `before` is put before each line; `stages` are the tasks around one. `instead`
    are the tasks that a word stands for without a verb. `scripts` are folders of tasks.
    """

    files: str
    places: str
    verbs: str = ""
    takes: str = "one"
    default: str = ""
    values: str = "C cwd d dir directory working-dir project f file config"
    option: str = ""
    before: str = ""
    stages: str = "{}"
    instead: dict[str, str] = {}  # noqa: RUF012 - read, never written
    scripts: str = ""


def _instead(tasks: dict[str, str]) -> dict[str, str]:
    """The tasks of several words each, by all of them in one text; `-` is for no word."""
    return {word: names for key, names in tasks.items() for word in key.split()}


PYTHON = TaskFile(
    "pyproject.toml Pipfile poe_tasks.toml pixi.toml hatch.toml",
    "tool.pdm.scripts tool.rye.scripts tool.poe.tasks tool.hatch.envs.*.scripts tool.pixi.tasks "
    "project.scripts tool.poetry.scripts scripts tasks envs.*.scripts",
    "run",
    values="with p python directory project extra e environment env C from spec",
)
PACKAGE = TaskFile(
    "package.json", "scripts wireit", "run run-script rum urn -",
    values="C F prefix cwd dir workspace filter userconfig cache registry loglevel",
    stages="pre{} {} post{}",
    instead=_instead({
        "- i install ci clean-install": "install prepublish prepare", "t tst": "test",
        "it install-test": "install prepare test", "restart": "stop start",
        "pack": "prepare pack", "publish": "prepublishOnly prepare pack publish",
        "add bin bunx config create dlx exec init link list ls remove set upgrade x why info view "
        "outdated": ""}),
)  # fmt: skip
_EACH_PACKAGE = PACKAGE._replace(
    files="package.json project.json", places="scripts targets", verbs="run run-many affected -",
    takes="all", values="filter scope projects F p t target targets concurrency",
    option="t target targets", stages="pre{} {} post{}", instead={},
)  # fmt: skip
ROWS: dict[str, TaskFile] = {
    **dict.fromkeys(words("hatch rye uv poetry pipenv pixi"), PYTHON),
    **dict.fromkeys(words("poe uvx pipx"), PYTHON._replace(verbs="")),
    "pdm": PYTHON._replace(verbs="run -", stages="pre_{} {} post_{}"),
    "npm": PACKAGE._replace(takes="loose", values=f"w {PACKAGE.values}".replace("F ", "")),
    **dict.fromkeys(words("yarn pnpm bun"), PACKAGE), "nr": PACKAGE._replace(verbs="", instead={}),
    "node": PACKAGE._replace(verbs="", takes="none", values="run", option="run", stages="{}"),
    "run-s": PACKAGE._replace(verbs="", takes="all", values="", instead={}),
    **dict.fromkeys(words("turbo nx lerna"), _EACH_PACKAGE),
    "makers": TaskFile("Makefile.toml", "tasks", default="default",
                     values="p profile e env makefile"),
    "air": TaskFile(".air.toml air.toml", "*", takes="none", default="build", values="c"),
    "lefthook": TaskFile("lefthook.yml .lefthook.yml lefthook.yaml lefthook.toml", "*", "run"),
    "lint-staged": TaskFile("lint-staged.json package.json", "lint-staged", takes="none",
                          default="*"),
    "dvc": TaskFile("dvc.yaml", "stages", "repro", "all", "*"),
    "goreleaser": TaskFile(".goreleaser.yaml .goreleaser.yml goreleaser.yaml", "before",
                      "release build", "none", "hooks"),
    "nodemon": TaskFile("nodemon.json package.json", "* nodemonConfig", takes="none",
                        default="exec"),
    "composer": TaskFile("composer.json", "scripts", "run run-script -", instead=_instead(
        {"install i": "pre-install-cmd pre-autoload-dump post-autoload-dump post-install-cmd",
         "update u require": "pre-update-cmd pre-autoload-dump post-autoload-dump "
                             "post-update-cmd"})),
    "deno": TaskFile("deno.json deno.jsonc package.json", "tasks scripts", "task"),
    "just": TaskFile("justfile Justfile .justfile", "tasks", "", "each", "first",
                "f d s justfile working-directory set shell dotenv-path color show"),
    "task": TaskFile("Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml Taskfile.dist.yml "
                "pyproject.toml", "tasks tool.taskipy.tasks", "", "all", "default",
                "d dir t taskfile C concurrency o output"),
    "mise": TaskFile("mise.toml .mise.toml mise/config.toml .config/mise.toml", "tasks", "run r -",
                scripts="mise-tasks .mise-tasks mise/tasks .mise/tasks .config/mise/tasks"),
    "cargo": TaskFile(".cargo/config.toml .cargo/config", "alias", before="cargo "),
    "foreman": TaskFile("Procfile Procfile.dev", "tasks", "start s", "all", "*",
                   "f procfile d root e env p port m formation c"),
    "pre-commit": TaskFile(".pre-commit-config.yaml", "*hooks", "run", "all", "*",
                      "c config color files hook-stage"),
    "tox": TaskFile("tox.ini setup.cfg pyproject.toml tox.toml", "*tox", "run r p run-parallel -",
               "none", "*", "e f x c conf root workdir", option="e"),
    "docker": TaskFile("compose.yaml compose.yml docker-compose.yml docker-compose.yaml",
                  "*compose",
                  "run up start create restart watch", "all", "*", "f file p project-name env-file "
                  "e env profile project-directory v volume publish u user w workdir entrypoint "
                  "name"),
}  # fmt: skip
SAME = {"go-task": "task", "prek": "pre-commit"}
SAME |= dict.fromkeys(words("honcho overmind hivemind goreman"), "foreman")
SAME |= dict.fromkeys(words("podman docker-compose podman-compose"), "docker")
SAME |= dict.fromkeys(words("run-p npm-run-all start-server-and-test start-test"), "run-s")
