"""How long a verdict takes: python -m benchmarks.policy [--json]

One-line commands and a 100-line program, warm, each text different so that no
parse is served from a cache; and the cold start of a process that judges one
command, as a host's hook does.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from policy import Rules, Subject, evaluate
from policy.claude import Anchors, parse_rule
from policy.model import Decision, Source
from policy.rules import DEFAULT_RULES

ROUNDS = 300
LINES = (
    "git status --short",
    "ls -la src/ | head -{n}",
    "pytest -q tests/test_{n}.py -k 'a or b' 2>&1 | tail -30",
    'cd "$HOME/p{n}" && git diff --stat HEAD~{n} | sort -k2',
    'for f in *.c; do gcc -c "$f" -o "${{f%.c}}-{n}.o"; done',
    "grep -rn 'TODO({n})' --include='*.py' . | wc -l",
    'docker run --rm -v "$PWD:/w" -w /w img:{n} make test',
    "python3 manage.py migrate --database=db{n} && curl -sSf localhost:{n}/health -o /dev/null",
)
RULES = (
    "Bash(rm -rf *)",
    "Bash(sudo *)",
    "Bash(git push --force *)",
    "Read(.env)",
    "Read(~/.ssh/**)",
)


def rules() -> Rules:
    """Rules as people have them."""
    anchors = Anchors("/home/u", "/w", "/w")
    parsed = [parse_rule(text, Decision.DENY, Source("bench"), anchors)[0] for text in RULES]
    return Rules((*filter(None, parsed), *DEFAULT_RULES))


def hundred_lines(number: int) -> str:
    """A program of a hundred lines: functions, loops, tests, substitutions."""
    block = (
        "log() {{ printf '%s\\n' \"$*\" >&2; }}\n"
        'build_{n}() {{\n  local dir=$1 out=${{2:-dist}}\n  mkdir -p "$out"\n'
        '  if [ -f "$dir/Makefile" ]; then\n    make -C "$dir" -j"$(nproc)"\n'
        '  else\n    log "nothing to do in $dir"\n  fi\n}}\nbuild_{n} src/{n} || exit 1\n'
    )
    return "".join(block.format(n=f"{number}_{index}") for index in range(10))


def timed(make: Callable[[int], str], some: Rules) -> dict[str, float]:
    """Milliseconds per verdict, each on a text not seen before."""
    samples = []
    for number in range(ROUNDS):
        subject = Subject("shell", make(number), cwd="/w", home="/home/u", surface="agent_shell")
        start = time.perf_counter()
        evaluate(subject, some)
        samples.append((time.perf_counter() - start) * 1000)
    samples.sort()
    return {
        "p50_ms": round(statistics.median(samples), 3),
        "p95_ms": round(samples[int(len(samples) * 0.95)], 3),
    }


def cold_start() -> dict[str, float]:
    """Milliseconds of a whole process that imports the policy and judges one command."""
    code = "import policy; policy.evaluate(policy.Subject('shell', 'ls | wc -l'), policy.Rules())"
    samples = {"bare": "pass", "import": "import policy", "verdict": code}
    result = {}
    for name, text in samples.items():
        runs = []
        for _ in range(7):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", text], check=True)
            runs.append((time.perf_counter() - start) * 1000)
        result[f"{name}_ms"] = round(min(runs), 1)
    return result


def main() -> None:
    """Measure and print."""
    some = rules()
    evaluate(Subject("shell", "cat x | wc"), some)
    result = {
        "one line": timed(lambda n: LINES[n % len(LINES)].format(n=n), some),
        "100 lines": timed(hundred_lines, some),
        "cold start": cold_start(),
    }
    if "--json" in sys.argv:
        print(json.dumps(result))
        return
    for name, figures in result.items():
        print(f"{name:12}" + "  ".join(f"{key} {value}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
