"""Scripts that people really wrote: each gets a verdict, and without rules nothing is denied."""

from __future__ import annotations

import functools
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from policy import Rules, Subject
from policy.analysis import WORK_MAX, WORK_PER_BYTE
from policy.decide import evaluate

SHARDS = 8
# Five of six files below /usr, which the machine takes long to open.
NO_SHELL = (
    *(".gz", ".py", ".pyc", ".h", ".hpp", ".go", ".png", ".svg", ".yaml", ".mo", ".rst", ".json"),
    *(".vim", ".xml", ".rb", ".js", ".so", ".a", ".o", ".bc", ".beam", ".pm", ".jar", ".html"),
)
SHELLS = (b"/sh", b"/bash", b"/dash", b"env bash", b"env sh")


@functools.cache
def scripts() -> tuple[Path, ...]:
    """Every file below /usr whose first line names a shell, in order; found once a process.

    What is named as of another language is none.
    """
    return tuple(sorted(_found()))


def _found() -> Iterator[Path]:
    for folder, _, names in os.walk("/usr"):
        for name in sorted(one for one in names if not one.endswith(NO_SHELL)):
            path = Path(folder, name)
            try:
                # One system call where the first bytes tell: most files are no scripts.
                with open(path, "rb", buffering=0, opener=_opener) as file:
                    line = file.read(80).partition(b"\n")[0].rstrip()
            except OSError:
                continue
            if line.startswith(b"#!") and line.split(b" -")[0].endswith(SHELLS):
                yield path


def _digest(path: Path) -> int:
    return zlib.crc32(os.fsencode(path))


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_installed_script_gets_a_verdict_and_none_is_denied_without_rules(
    shard: int, is_long: bool, record_property: pytest.FixtureRequest
) -> None:
    counts: Counter[str] = Counter()
    # One in eight, always the same ones; all of them with --long.
    for path in (s for s in scripts()[shard::SHARDS] if is_long or _digest(s) % 8 == 0):
        data = path.read_bytes()
        code = data.decode("utf-8", "surrogateescape")
        verdict = evaluate(Subject("shell", code, cwd="/w", home="/home/u"), Rules())
        assert verdict.allowed, path
        assert verdict.work <= min(WORK_PER_BYTE * len(data), WORK_MAX), path
        counts[verdict.coverage] += 1
    record_property("coverage", dict(counts))
    # What bash itself reads must be understood, with few exceptions.
    assert counts["unparsed"] <= 0.1 * max(counts.total(), 10), counts


WORKFLOW_LINES = (
    "python -m pip install --upgrade pip",
    'pip install -e ".[test]"',
    "pytest -n auto --cov=${{ matrix.package }} tests/",
    "npm ci && npm run build --if-present",
    'echo "version=$(node -p "require(\'./package.json\').version")" >> "$GITHUB_OUTPUT"',
    "git config user.name github-actions && git push origin HEAD:${{ github.head_ref }}",
    "docker build --build-arg VERSION=${GITHUB_SHA::8} -t app:${GITHUB_REF##*/} .",
    "cargo test --workspace --all-features -- --nocapture",
    "go test -race -coverprofile=coverage.txt ./...",
    'if [ -n "$(git status --porcelain)" ]; then git diff; exit 1; fi',
    'for dir in packages/*/; do (cd "$dir" && npm test); done',
    "tar -czf dist/app-${{ runner.os }}.tgz -C build .",
    "set -euo pipefail\nmapfile -t files < <(git ls-files '*.sh')\nshellcheck \"${files[@]}\"",
    "cat <<'EOF' > .npmrc\nregistry=https://example.com/\nEOF\n",
)


@pytest.mark.parametrize("code", WORKFLOW_LINES)
def test_lines_of_real_workflows_get_a_verdict(code: str) -> None:
    verdict = evaluate(Subject("shell", code, cwd="/w", home="/home/u"), Rules())
    assert verdict.allowed
