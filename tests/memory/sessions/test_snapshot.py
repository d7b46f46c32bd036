"""R4: at most 2,048 bytes, of whole lines, the same twice, whatever a session holds."""

from __future__ import annotations

import random

import pytest

from benchmarks.snapshot import read_snapshot
from memory.sessions.events import PRIORITIES, Event, of_error, of_prompt
from memory.sessions.snapshot import SNAPSHOT_BYTES_MAX, build_snapshot

SESSIONS, SESSIONS_LONG = 800, 100_000
# One to four bytes each, wide, joined, right to left, unseen; ends of lines and marks of the form.
LETTERS = "ab/. _-\n\t\r日本語ไทยعربية😀👩‍👩‍👧é\u0301\u200b\u202e\ufeff\u2028!*$:"
STATES = ("", "open", "closed", "failed", "denied", "main 1a2b3c4")


def make_text(chance, chars_max=400):
    size = int(chance.expovariate(8 / chars_max)) % chars_max
    return "".join(chance.choices(LETTERS, k=size))


def make_events(chance):
    """Events as the store holds them: cleaned texts of any content."""
    words = [make_text(chance) for _ in range(12)]
    events = []
    for _ in range(chance.choice((0, 1, 3, 30, 120))):
        text = chance.choice(words) if chance.random() < 0.6 else make_text(chance)
        category = chance.choice(tuple(PRIORITIES))
        target = text if chance.random() < 0.5 else make_text(chance)
        events.append(Event(category, text, target, chance.choice(STATES)))
    if chance.random() < 0.3:
        events[:0] = of_prompt(make_text(chance, 9000))
    return events


def check(events, subject, bytes_max):
    text = build_snapshot(events, *subject, bytes_max=bytes_max)
    assert len(text.encode()) <= bytes_max  # and it is UTF-8: a lone surrogate would raise
    assert text == build_snapshot(list(events), *subject, bytes_max=bytes_max)
    everything = build_snapshot(events, *subject, bytes_max=10_000_000)
    assert set(other_lines(text)) <= set(other_lines(everything))  # no line is cut
    touched = {e.text for e in events if e.category in ("file_edit", "file_read")}
    assert read_snapshot(text).files <= touched  # and no path
    assert bool(text) == bool(everything)
    return text


def other_lines(text):
    """Lines of other parts than that of files, which names a folder once for those that fit."""
    before, _, files = text.partition("\nFiles (* edited):\n")
    return [*before.split("\n"), *(line for line in files.split("\n") if line[:5] == "Git: ")]


def test_r4_whatever_a_session_holds_its_snapshot_is_within_its_size(is_long):
    chance = random.Random(18)
    full = 0
    for number in range(SESSIONS_LONG if is_long else SESSIONS):
        events = make_events(chance)
        known = " ".join(e.text for e in events[:4]) if number % 5 == 0 else ""
        subject = (f"a:{number}" * chance.randrange(30), make_text(chance, 60), known)
        full += len(check(events, subject, SNAPSHOT_BYTES_MAX).encode()) > 1800
        if number % 10 == 0:
            check(events, subject, chance.randrange(300, 3000))
    assert full > number / 10  # the positive control: many have more to say than there is room


LARGE = {
    "prompts of a megabyte": [
        e for n in range(3) for e in of_prompt("Never use 日本語 👩‍👩‍👧. " * 25_000 + str(n))
    ],
    "a word of a megabyte": list(of_prompt("Nie" + "語" * 350_000)),
    "5,000 errors": [of_error(f"$ make {n}", f"error 😀: {n}" * 50) for n in range(5000)],
    "5,000 files": [Event("file_edit", f"src/語/{n}.py", f"src/語/{n}.py") for n in range(5000)],
    "long paths": [Event("file_edit", "d/" * 190 + str(n), str(n)) for n in range(99)],
}


@pytest.mark.parametrize("what", LARGE)
def test_r4_what_is_large_is_bounded_and_still_told(what):
    text = check(LARGE[what], ("a:b",), SNAPSHOT_BYTES_MAX)
    assert text.count("\n") >= 1


def edits(paths):
    return [Event("file_edit", path, path) for path in paths]


# With how many are to be shown at least; one a line there would be 35, 40, 55 and 64 of them.
FOLDERS = {
    "deep": ([f"packages/core/src/main/java/com/acme/a{n % 3}/M{n}.java" for n in range(300)], 120),
    "outside": ([f"/usr/lib/python3/dist-packages/one/m{n}.py" for n in range(300)], 150),
    "thousands of folders": ([f"packages/area{n}/src/index.ts" for n in range(3000)], 70),
    "apart in a folder alone": ([f"src/{a}/{b}/i.ts" for a in "abcdefgh" for b in "abcdefgh"], 64),
}


@pytest.mark.parametrize("what", FOLDERS)
def test_folders_are_named_once_so_that_more_files_fit(what):
    paths, least = FOLDERS[what]
    text = check(edits(paths), ("a:b",), SNAPSHOT_BYTES_MAX)
    shown = read_snapshot(text).files
    assert len(shown) >= least
    assert paths[-1] in shown  # what was used last stands before the others
    assert text.split("Files (* edited):\n")[1].startswith(paths[-1][:4])


SHOWING = {
    "sed -n '1,200p' src/app/a.py": "src/app/a.py",
    "cat src/a.py | head -50": "src/a.py",
    "head -n 20 README.md 2>&1": "README.md",
    "nl -ba ~/notes.md": "~/notes.md",
    "cat a.py b.py": "",
    "cat a.py | grep x": "",
    "cat $FILE": "",
    "tail -f log": "",
    "sed -n '/def/p' a.py": "",
}


@pytest.mark.parametrize("command", SHOWING)
def test_a_command_that_shows_one_file_is_told_by_the_file(command):
    text = build_snapshot([Event("look", command), Event("look", "ls")], "a:b")
    given = read_snapshot(text)
    assert given.files == (frozenset([SHOWING[command]]) if SHOWING[command] else frozenset())
    assert (command in given.commands) is (not SHOWING[command])
    failed = build_snapshot([Event("look", command, state="failed")], "a:b")
    assert read_snapshot(failed).commands == (command,)


def test_a_text_given_to_a_command_is_told_by_the_file_that_it_goes_to():
    body = "import os " * 20
    events = [
        Event("command", f"cat > tools/run.py <<'EOF' {body}1"),
        Event("command", f"cat > tools/run.py <<'EOF' {body}2"),
        Event("command", f"python3 - <<'EOF' {body}"),
        Event("command", "cat > tools/run.py <<'EOF'"),
        Event("command", "echo 1 << 2 > out"),
    ]
    shown = read_snapshot(build_snapshot(events, "a:b")).commands
    assert "cat > tools/run.py <<'EOF' …" in shown
    assert "cat > tools/run.py <<'EOF'" in shown
    assert "echo 1 << 2 > out" in shown
    (other,) = (one for one in shown if one.startswith("python3"))
    assert "import os import os" in other
    assert len(shown) == 4


def test_the_files_used_most_stand_in_full_and_further_ones_behind_their_folder():
    paths = [f"cmd/server/handlers/route{number}.go" for number in range(60)]
    text = build_snapshot([Event("file_read", path, target=path) for path in paths], "a:b")
    latest = list(reversed(paths))
    assert all(path in text for path in latest[:10])
    assert latest[30] not in text
    assert set(latest[:31]) <= read_snapshot(text).files


def test_where_few_paths_would_fit_in_full_folders_are_named_once():
    folder = "/".join(f"module{number}" for number in range(12))
    paths = [f"{folder}/f{number}.py" for number in range(40)]
    text = build_snapshot([Event("file_read", path, target=path) for path in paths], "a:b")
    assert text.count(folder) == 1
    assert set(paths) <= read_snapshot(text).files
