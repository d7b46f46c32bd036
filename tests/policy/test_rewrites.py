"""Files changed where they lie: what a diff on the disk names."""

from __future__ import annotations

import pytest

from policy.analysis import analyse
from policy.model import FileAccess, Subject

DIFF = "--- a/src/main.py\n+++ b/src/main.py\n@@ -1 +1 @@\n-a\n+b\n"


def written(code: str) -> set[str]:
    texts = {"/w/fix.diff": DIFF}
    subject = Subject("bash", code, "/w", "/w", "/h", {}, "agent_shell")
    effects = analyse(subject, texts.get).effects
    return {e.path for e in effects if isinstance(e, FileAccess) and e.is_write}


@pytest.mark.parametrize(
    "code",
    [
        "patch -p1 < fix.diff",
        "patch -p1 -i fix.diff",
        "patch --input=fix.diff -p1",
        "git apply fix.diff",
        "git am fix.diff",
        "git am < fix.diff",
        "git apply --3way fix.diff",
    ],
)
def test_a_diff_on_the_disk_names_the_files_that_it_changes(code: str) -> None:
    assert "/w/src/main.py" in written(code)


@pytest.mark.parametrize("code", ["patch --dry-run -p1 < fix.diff", "git apply --check fix.diff"])
def test_a_diff_that_is_only_tried_changes_nothing(code: str) -> None:
    assert written(code) == set()


def test_a_diff_is_applied_below_the_folder_that_is_given() -> None:
    assert "/w/lib/src/main.py" in written("git apply --directory=lib fix.diff")
    assert "/w/lib/src/main.py" in written("patch -d lib -p1 -i fix.diff")
