"""What reaches a context window of real outputs: `python -m benchmarks.context_saved [--json]`.

Each row is an output that a Debian machine with the languages installed can make, and a question
about it. Its truth comes from a command that is run by hand, outside. An agent asks in one of two
ways, and pays for the answer's text and for nothing else:

- by intent: the command's whole output is kept, the sections that match come back;
- by program: a program reads the file and prints the answer.

`raw` is what the same command (or file) would have put into the window, `returned` what did come
back, `found` whether the truth is in it. A row whose command fails here is left out and named.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import trio

from benchmarks.report import argument_parser
from ctxmode.app import App, open_app
from ctxmode.config.locations import Config
from ctxmode.render import results
from executor import Request

CHECKOUT = Path(__file__).resolve().parent.parent
TRUTH_S_MAX = 60
NODE = "node --v8-options"
JAVA = "java -XX:+PrintFlagsFinal -version 2>/dev/null"
DOCTESTS = "python3 -S -m doctest -v $(python3 -S -c 'import statistics as s; print(s.__file__)')"
BROKEN_C = """\
{ echo 'int main(void) {'
  for n in $(seq 80); do echo "  int v$n = missing_$n;"; done
  echo '  return velocity_of_sound(1); }'; } >"$TMPDIR/broken.c"
gcc -Wall -c "$TMPDIR/broken.c" -o /dev/null 2>&1 || true"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one output. `truth` prints what has to be in the answer.

    With `file` and `program` it is asked by program, else by `intent`.
    """

    name: str
    command: str
    truth: str
    intent: str = ""
    file: str = ""
    program: str = ""


QUESTIONS = (
    Question(
        "git history", "git log --stat",
        "git log --format=%s --diff-filter=A -- executor/engine/seccomp.py | tail -1",
        "commit that added executor/engine/seccomp.py",
    ),
    Question(
        "git objects", "git ls-files -s", "git rev-parse HEAD:LICENSE", "LICENSE",
    ),
    Question(
        "grep over a repository", "git grep -n 'def '",
        "git grep -n 'def estimate_tokens' | cut -d: -f1", "def estimate_tokens",
    ),
    Question(
        "test run", DOCTESTS, f"{DOCTESTS} | grep -E '^[0-9]+ passed'", "passed and failed",
    ),
    Question(
        "compiler errors", BROKEN_C, "echo velocity_of_sound", "implicit declaration of function",
    ),
    Question(
        "configuration as JSON",
        "node -p 'JSON.stringify(process.config, null, 1)'",
        "node -p 'process.config.variables.v8_enable_i18n_support'",
        "v8_enable_i18n_support",
    ),
    Question(
        "options of node", NODE,
        f"{NODE} | grep -A1 -- '--stack-size ' | tail -1 | grep -o '[0-9]*'",
        "--stack-size default",
    ),
    Question(
        "flags of the JVM", JAVA, f"{JAVA} | grep -w MaxHeapFreeRatio | grep -o '= [0-9]*'",
        "MaxHeapFreeRatio",
    ),
    Question(
        "optimizers of gcc", "gcc -Q --help=optimizers",
        "gcc -Q --help=optimizers | grep -w -- '-fipa-icf '", "-fipa-icf",
    ),
    Question(
        "error explained by rustc", "for e in E0004 E0106 E0277 E0382 E0499 E0502 E0505 E0597; "
        "do echo \"# $e\"; rustc --explain $e; done",
        "rustc --explain E0499 | head -1", "E0499 borrowed mutably more than once",
    ),
    Question(
        "documentation as text", "python3 -m pydoc subprocess",
        "echo 'CalledProcessError object will have the return code'",
        "check_output CalledProcessError returncode",
    ),
    Question(
        "documentation as HTML",
        "cd $TMPDIR && python3 -m pydoc -w argparse >&2 && cat argparse.html",
        "echo BooleanOptionalAction", "BooleanOptionalAction class",
    ),
    Question(
        "documentation as Markdown", "cat README.md ARCHITECTURE.md SECURITY.md CHANGELOG.md",
        "echo memory_bytes", "default limit of memory of a run",
    ),
    Question(
        "file listing", "find /usr/lib /usr/share -type f 2>/dev/null || true",
        "find /usr/lib -type f -name 'libseccomp.so*' | head -1", "libseccomp.so",
    ),
    Question(
        "headers of the kernel", "cat /usr/include/linux/landlock.h /usr/include/linux/*.h",
        "grep -h 'define LANDLOCK_ACCESS_FS_REFER' /usr/include/linux/landlock.h | tr -s '\\t' ' ' "
        "| grep -o '1ULL << [0-9]*'",
        "LANDLOCK_ACCESS_FS_REFER",
    ),
    Question(
        "system calls", "cat /usr/include/asm-generic/unistd.h",
        "grep -h 'define __NR_landlock_create_ruleset' /usr/include/asm-generic/unistd.h | grep -o "
        "'[0-9]*$'",
        "__NR_landlock_create_ruleset",
    ),
    Question(
        "sections of a binary", "readelf -aW /bin/bash",
        "readelf -dW /bin/bash | grep -o 'libtinfo[^]]*'", "NEEDED shared library",
    ),
    Question(
        "names of characters", "cat /usr/share/perl/5.*/unicore/Name.pl", "echo 02603", "SNOWMAN",
    ),
    Question(
        "encodings", "iconv -l", "iconv -l | grep -ow KOI8-RU | head -1", "KOI8-RU",
    ),
    Question(
        "a log of requests", "", "echo /slow/17", file="access.log",
        program="awk '$3 >= 500 {n[$2]++} END {for (p in n) if (n[p] > m) {m = n[p]; b = p} "
        "print b}' \"$FILE_CONTENT_PATH\"",
    ),
    Question(
        "a stack trace in a log", "cat app.log", "echo 'pool.rs:88'", "pool exhausted panic",
    ),
    Question(
        "a table as CSV", "", "echo 24500", file="sales.csv",
        program="awk -F, '$2 == \"north\" {s += $3} END {print s}' \"$FILE_CONTENT_PATH\"",
    ),
    Question(
        "records as JSON", "", "echo 17", file="users.json",
        program="node -e 'const u = JSON.parse(require(\"fs\").readFileSync("
        "process.env.FILE_CONTENT_PATH)); console.log(u.filter((x) => !x.active).length)'",
    ),
    Question(
        "one record of many as JSON", "cat users.json", "echo user1733@example.org", "user1733",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Saved:
    """One question: bytes, and whether the answer was in what came back."""

    name: str
    raw: int
    returned: int
    found: bool


def make_project(folder: Path) -> None:
    """A clone of this repository with made data beside its files, the same every time."""
    clone = ["git", "clone", "--quiet", "--no-hardlinks", str(CHECKOUT), str(folder)]
    subprocess.run(clone, check=True, timeout=TRUTH_S_MAX)
    lines = [f"t{n} /fast/{n % 300} {200 if n % 7 else 404} {n % 90}ms" for n in range(20_000)]
    lines += [f"t{n} /slow/{17 if n % 3 else n % 40} 503 900ms" for n in range(300)]
    (folder / "access.log").write_text("\n".join(lines) + "\n")
    app = [f"2026-01-01T00:{n // 60 % 60:02}:{n % 60:02} INFO handled {n}" for n in range(9000)]
    trace = ["thread 'main' panicked: pool exhausted", "  at pool.rs:88", "  at main.rs:12"]
    (folder / "app.log").write_text("\n".join([*app[:6000], *trace, *app[6000:]]) + "\n")
    sales = [f"{n},{('north', 'south', 'east', 'west')[n % 4]},{n % 200}" for n in range(1000)]
    (folder / "sales.csv").write_text("id,region,amount\n" + "\n".join(sales) + "\n")
    users = [{"id": n, "mail": f"user{n}@example.org", "active": n % 120 != 7} for n in range(2000)]
    (folder / "users.json").write_text(json.dumps(users, indent=1))


def truth(question: Question, folder: Path) -> str:
    """What has to be in the answer, found by hand; empty if it can't be."""
    command = ["bash", "-c", question.truth]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=TRUTH_S_MAX, check=False
    )
    return done.stdout.strip()


async def asked(app: App, question: Question, expected: str) -> Saved | None:
    """What came back of one question; None if its command fails here."""
    if question.program:
        request = Request("shell", question.program, bind_file=question.file)
        raw = (app.config.project / question.file).stat().st_size
        answer = await app.execute(request)
    else:
        answer = await app.execute(
            Request("shell", question.command, intent=question.intent), name=question.name
        )
        raw = answer.result.stdout.bytes_total + answer.result.stderr.bytes_total
    if not answer.result.ok:
        return None
    text = results.answer_text(answer)
    return Saved(question.name, raw, len(text.encode()), expected in text)


async def measure(folder: Path, storage: Path) -> tuple[list[Saved], list[str]]:
    """All questions in turn; those left out by name."""
    saved, left_out = [], []
    config = Config(project=folder, home=Path.home(), data_dir=storage)
    async with open_app(config) as app:
        for question in QUESTIONS:
            expected = await trio.to_thread.run_sync(truth, question, folder)
            one = await asked(app, question, expected) if expected else None
            if one is None:
                left_out.append(question.name)
            else:
                saved.append(one)
    return saved, left_out


def table(saved: list[Saved], left_out: list[str]) -> Iterator[str]:
    """For people."""
    yield f"{'output':<32}{'raw':>12}{'returned':>10}{'share':>8}  found"
    for row in saved:
        share = row.returned / row.raw if row.raw else 1
        found = "yes" if row.found else "NO"
        yield f"{row.name:<32}{row.raw:>12,}{row.returned:>10,}{share:>8.2%}  {found}"
    raw, returned = sum(r.raw for r in saved), sum(r.returned for r in saved)
    found = f"{sum(r.found for r in saved)} of {len(saved)}"
    yield f"{'all':<32}{raw:>12,}{returned:>10,}{returned / max(raw, 1):>8.2%}  {found}"
    if left_out:
        yield f"left out, since the command fails here: {', '.join(left_out)}"


def main() -> None:
    """Measure and show."""
    given = argument_parser(__name__, __doc__).parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "project")
        make_project(folder)
        saved, left_out = trio.run(measure, folder, Path(place, "storage"))
    if given.json:
        print(json.dumps({"rows": [asdict(row) for row in saved], "left_out": left_out}, indent=2))
    else:
        print("\n".join(table(saved, left_out)))


if __name__ == "__main__":
    main()
