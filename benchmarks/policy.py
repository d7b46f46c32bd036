"""How long a verdict takes: python -m benchmarks.policy [--json]

One-line commands and a 100-line program, warm, each text different so that no
parse is served from a cache; and the cold start of a process that judges one
command, as a host's hook does.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from policy import Rules, Subject, evaluate
from policy.claude import Anchors, parse_rule
from policy.model import Decision, RuleSource
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
    parsed = [parse_rule(text, Decision.DENY, RuleSource("bench"), anchors)[0] for text in RULES]
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
    """Milliseconds per verdict, each on a text not seen before.

    Processor time beside wall time: on a machine that does other things the
    first is what the verdict costs, the second what somebody waits for.
    """
    wall, processor = [], []
    for number in range(ROUNDS):
        subject = Subject("shell", make(number), cwd="/w", home="/home/u", surface="agent_shell")
        start, start_cpu = time.perf_counter(), time.process_time()
        evaluate(subject, some)
        processor.append((time.process_time() - start_cpu) * 1000)
        wall.append((time.perf_counter() - start) * 1000)
    wall.sort()
    return {
        "p50_ms": round(statistics.median(wall), 3),
        "p95_ms": round(wall[int(len(wall) * 0.95)], 3),
        "cpu_p50_ms": round(statistics.median(processor), 3),
        "cpu_min_ms": round(min(processor), 3),
    }


# What a hook's process does, each step with all before it.
STEPS = {
    "bare": "",
    "import": "import policy, pathlib",
    "rules": "rules = policy.load_rules(pathlib.Path('.').resolve(), home=pathlib.Path.home())",
    "line": "policy.evaluate(policy.Subject('shell', 'git status && ls -la'), rules)",
    "grammar": "policy.evaluate(policy.Subject('shell', 'if ls; then id; fi'), rules)",
    "paths": "policy.evaluate_read('/etc/hosts', policy.Rules((RULE,)))",
}
RULE = "RULE = policy.Rule('r', 'read', 'r', '*.pem', policy.Decision.DENY, policy.Source('s'))"


def cold_start() -> dict[str, float]:
    """Milliseconds of a whole process, started as a hook is, after each step.

    The interpreter runs without site packages' start-up files; its path is
    handed over.
    """
    code, result = f"import sys; sys.path[:] = {sys.path!r}\n", dict[str, float]()
    for name, step in STEPS.items():
        code += f"{RULE}\n" if name == "paths" else ""
        code += f"{step}\n"
        runs = []
        for _ in range(9):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
            runs.append((time.perf_counter() - start) * 1000)
        result[f"{name}_ms"] = round(min(runs), 1)
    return result


def main() -> None:
    """Measure and print, with the load it was measured under."""
    some = rules()
    evaluate(Subject("shell", "cat x | wc"), some)
    result = {
        "one line": timed(lambda n: LINES[n % len(LINES)].format(n=n), some),
        "100 lines": timed(hundred_lines, some),
        "cold start": cold_start(),
        "load": {"average": round(os.getloadavg()[0], 1)},
    }
    if "--json" in sys.argv:
        print(json.dumps(result))
        return
    for name, figures in result.items():
        print(f"{name:12}" + "  ".join(f"{key} {value}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
