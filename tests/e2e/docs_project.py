"""The project, home and PATH in which the documents' commands are run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.e2e import docs_session

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = {
    "access.log": "".join(
        f"10.0.0.{n % 7} GET /page/{n} {'500 ERROR upstream' if n % 50 == 0 else '200 ok'}\n"
        for n in range(2000)
    ),
    "analysis.rb": 'puts "arguments: #{ARGV.join(" ")}"\n',
    "report.R": 'cat("rows:", 3, "\\n")\n',
    "report.py": 'print("rows: 3")\n',
    "deploy.py": 'import os\n\nos.system("git push --force")\n',
    "Makefile": "all:\n\t@echo built > out.txt\n\t@cat out.txt\n",
    "docs/guide.md": "# Guide\n\n## Retries\n\nA connection refused by its server is tried again"
    " after a second.\n\n## Limits\n\nThree attempts at most.\n",
    "docs/api.md": "# API\n\n## send\n\nSends a request and waits for the answer.\n",
    "sales.csv": "month,amount\nJanuary,10\nFebruary,20\nMarch,12\n",
    "cases.tsv": "language\tcode\texpected\treason\n"
    "shell\tnpm publish\tdeny\treleases\nshell\tnpm pack\tallow\tnothing forbids it\n",
    "rules.toml": '[[rule]]\nid = "no-publish"\ndecision = "deny"\ncommands = ["npm publish *"]\n'
    'reason = "Releases are made by CI."\n',
    "pipeline.toml": '[[step]]\nname = "count"\nlanguage = "python"\n'
    'code = "print(len(open(\'sales.csv\').readlines()) - 1)"\ninputs = ["sales.csv"]\n\n'
    '[[step]]\nname = "report"\nlanguage = "shell"\ncode = "echo done"\nneeds = ["count"]\n',
}


def make(place: Path) -> tuple[Path, dict[str, str]]:
    """A project with a history below a home of its own; the folder, and the variables to use."""
    home, programs = place / "home", place / "bin"
    project = home / "project"
    programs.mkdir(parents=True)
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copytree(EXAMPLES, project / "examples")
    command = programs / "context-mode"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ctxmode "$@"\n')
    command.chmod(0o755)
    docs_session.write(home, project)
    environ = _environ(home, programs)
    history = (
        "git init -q -b main && git add -A && git commit -qm 'Start' && "
        "git commit -q --allow-empty -m 'Retry when a connection is refused'"
    )
    subprocess.run(["sh", "-c", history], cwd=project, env=environ, check=True)
    return project, environ


def _environ(home: Path, programs: Path) -> dict[str, str]:
    mine = ("XDG_", "CONTEXT_MODE_", "GIT_", "CLAUDE_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    who = {"NAME": "Ann", "EMAIL": "ann@example.com"}
    return {
        **kept,
        **{f"GIT_{role}_{key}": who[key] for role in ("AUTHOR", "COMMITTER") for key in who},
        "HOME": str(home),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "TERM": "dumb",
    }
