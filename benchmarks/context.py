"""Bytes kept out of a context window: what real commands print, and what an agent gets instead.

Each question of `data/questions.toml` has a truth that a command finds by hand, outside. It is
asked by intent (the output is stored, matching sections come back) or by a program that reads a
file.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import trio

from benchmarks.harness import DATA, ROOT, Bench, measure, write_files
from ctxmode.app import App, open_app
from ctxmode.config.locations import Config
from ctxmode.render import results
from executor import Request

TRUTH_S_MAX = 60
Question = Mapping[str, str]


@measure(1)
async def saved(bench: Bench) -> None:
    """Measure the bytes of all answers in per cent of the bytes that commands print."""
    project = bench.folder / "project"
    _make_project(project)
    raws, returned, missed, left_out = 0, 0, [], []
    questions = tomllib.loads((DATA / "questions.toml").read_text())["question"]
    async with open_app(Config(project, Path.home(), bench.folder / "data")) as app:
        for question in questions:
            name = question["name"]
            expected = await trio.to_thread.run_sync(_find_truth, question["truth"], project)
            found = await _ask(app, question) if expected and bench.wants(name) else None
            if found is None:
                left_out.append(name)
                continue
            raw, text = found
            raws, returned = raws + raw, returned + len(text.encode())
            missed += [] if expected in text else [name]
            size = len(text.encode())
            bench.value(name, size, "bytes", beside="printed", other=raw)
    asked = len(bench.rows)
    bench.value("all questions", returned, "bytes", beside="printed", other=raws)
    bench.value("answers with the truth in them", 100 * (asked - len(missed)) / max(asked, 1), "%")
    bench.notes += [f"without the truth: {', '.join(missed)}"] if missed else []
    bench.notes += [f"their commands fail here: {', '.join(left_out)}"] if left_out else []


async def _ask(app: App, question: Question) -> tuple[int, str] | None:
    """Return the bytes of the whole output, and the answer; None if the command fails here."""
    if "program" in question:
        file = question["file"]
        answer = await app.execute(Request("shell", question["program"], bind_file=file))
        raw = (app.config.project / file).stat().st_size
    else:
        request = Request("shell", question["command"], intent=question["intent"])
        answer = await app.execute(request, name=question["name"])
        raw = answer.result.stdout.bytes_total + answer.result.stderr.bytes_total
    return (raw, results.answer_text(answer)) if answer.result.ok else None


def _make_project(folder: Path) -> None:
    """Clone this repository, with made data beside its files, the same every time."""
    clone = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder)]
    subprocess.run(clone, check=True, timeout=TRUTH_S_MAX)
    requests = [f"t{n} /fast/{n % 300} {200 if n % 7 else 404} {n % 90}ms" for n in range(20_000)]
    requests += [f"t{n} /slow/{17 if n % 3 else n % 40} 503 900ms" for n in range(300)]
    app = [f"2026-01-01T00:{n // 60 % 60:02}:{n % 60:02} INFO handled {n}" for n in range(9000)]
    panic = "thread 'main' panicked: pool exhausted\n  at pool.rs:88\n  at main.rs:12"
    app.insert(6000, panic)
    sales = [f"{n},{('north', 'south', 'east', 'west')[n % 4]},{n % 200}" for n in range(1000)]
    users = [{"id": n, "mail": f"user{n}@example.org", "active": n % 120 != 7} for n in range(2000)]
    made = {
        "access.log": requests,
        "app.log": app,
        "sales.csv": ["id,region,amount", *sales],
        "users.json": [json.dumps(users, indent=1)],
    }
    write_files(folder, ((name, "\n".join(lines) + "\n") for name, lines in made.items()))


def _find_truth(command: str, folder: Path) -> str:
    """Return what has to be in an answer; empty if it can't be found here."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder, capture_output=True, text=True, timeout=TRUTH_S_MAX, check=False,
    )  # fmt: skip
    return done.stdout.strip()
