"""The part of a run's repository that travels: objects in one pack, refs, each working tree's HEAD
and index. It is made by git in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from executor.project.git.host import REF_FORMAT, GitError, parse_refs
from executor.project.git.scratch import KNOWN, Scratch

PACK = "pack"
OUTPUTS_MAX: Final = 60  # working trees, by files that a run may hand back

# $1 is the folder to write to; the others are folders of working trees. A new index is told by what
# differs from HEAD: most of it does not. `:mode mode object object status` is a line of diff-index,
# `mode object stage` one of ls-files. Each process takes 2 ms in a sandbox, so there are few.
# Where objects of a ref lie outside of what is shown, git refuses: then it packs what is there.
SCRIPT: Final = f"""set -eu
export GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1 GIT_OPTIONAL_LOCKS=0
out=$1; shift; mkdir -p "$out"
git --git-dir=. for-each-ref --format='{REF_FORMAT}' > "$out/refs"
: > "$out/stash"
[ ! -e logs/refs/stash ] ||
    git --git-dir=. reflog show --format='%H %gs' refs/stash > "$out/stash" 2>/dev/null || :
n=0
for folder in "$@"; do
    g="git --git-dir=$folder"
    $g symbolic-ref -q HEAD > "$out/head-$n" || $g rev-parse -q --verify HEAD > "$out/head-$n"
    : > "$out/index-$n"; : > "$out/unmerged-$n"
    if [ -e "$folder/index" ]; then
        at=$($g rev-parse -q --verify HEAD) || at=$($g hash-object -t tree /dev/null)
        $g diff-index --cached --raw --no-renames --no-abbrev -z "$at" > "$out/index-$n"
        $g ls-files -u -z > "$out/unmerged-$n"
    fi
    n=$((n + 1))
done
object='\\([0-9a-f]\\{{40,64\\}}\\)'
cat "$out"/index-* "$out"/unmerged-* | tr '\\0' '\\n' | sed \
    -e "s/^:[0-7]* 1[02][0-7]* [0-9a-f]* $object .*/\\1/;t found" \
    -e "s/^1[02][0-7]* $object [123].*/\\1/;t found" -e d -e :found -e '/^0*$/d' > "$out/entries"
pack() {{ git --git-dir=. pack-objects --revs --thin --stdout --window=0 -q "$@"; }}
there() {{ git --git-dir=. cat-file --batch-check="$1%(objectname)" | grep -v ' ' || :; }}
cat "$out/entries" {KNOWN} | pack --all --reflog > "$out/{PACK}" || {{
    cat "$out/entries" "$out/refs" "$out/stash" "$out"/head-* | sed 's/ .*//' | there ''
    sed 's/^.//' {KNOWN} | there '^'
}} | pack > "$out/{PACK}"
"""


class Reader(Protocol):
    """Has git read a scratch repository, which was written in a folder of `place`."""

    @property
    def place(self) -> Path:
        """Return where scratch repositories are written, and what is unpacked of them."""

    def __call__(self, scratch: Scratch, script: str, arguments: Sequence[str]) -> Path:
        """Run a script of a shell that sees the scratch repository as its folder.

        Returns the folder of what it wrote.

        Raises:
            GitError: it failed; says why.
        """


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """The checkout of a working tree: its own folder in the repository's, "" for the main
    one; the name of a ref or an object; and the lines of an index that differ from that."""

    folder: str
    head: str
    index: bytes


@dataclass(frozen=True, slots=True)
class CarriedRepository:
    """One repository as a run left it; `pack` holds the objects that the host lacks.

    `stashes` are commits with their messages, the latest first.
    """

    control: str
    format: str
    refs: Mapping[str, str]
    tips: tuple[str, ...]
    trees: tuple[WorkingTree, ...]
    stashes: tuple[tuple[str, str], ...]
    pack: Path


def read(control: str, scratch: Scratch, run: Reader) -> CarriedRepository:
    """Have git read a scratch repository, and take what it says as data.

    Raises:
        GitError: it can't read that, or there is no git.
    """
    if len(scratch.trees) > OUTPUTS_MAX // 3:
        raise GitError(f"it has over {OUTPUTS_MAX // 3} working trees")
    out = run(scratch, SCRIPT, [tree or "." for tree in scratch.trees])

    def said(name: str) -> bytes:
        return (out / name).read_bytes()

    try:
        trees = tuple(
            WorkingTree(
                tree, _text(said(f"head-{n}")), _as_index(said(f"index-{n}"), said(f"unmerged-{n}"))
            )
            for n, tree in enumerate(scratch.trees)
        )
        refs = parse_refs(said("refs"))
        stashes = [line.split(" ", 1) for line in _text(said("stash")).splitlines()]
        tips = {*refs.values(), *_text(said("entries")).split(), *(name for name, _ in stashes)}
        tips |= {tree.head for tree in trees if not tree.head.startswith("refs/")}
        return CarriedRepository(
            control,
            scratch.format,
            refs,
            tuple(sorted(tips)),
            trees,
            tuple((name, message) for name, message in stashes),
            out / PACK,
        )
    except (OSError, ValueError, IndexError) as error:
        raise GitError(f"it can't be read: {error}") from error


def _text(said: bytes) -> str:
    return said.decode("utf-8", "surrogateescape").strip()


def _as_index(raw: bytes, unmerged: bytes) -> bytes:
    """Lines for `git update-index --index-info` from those of `git diff-index --raw`.

    A line is `:old-mode new-mode old-object new-object status`, its path follows.
    """
    fields = raw.split(b"\0")[:-1]
    lines = []
    for line, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, name, _ = line.split(b" ")
        is_there = mode != b"000000" and name.strip(b"0")
        lines.append(b"%s %s\t%s\0" % (mode if is_there else b"0", name, path))
    return b"".join(lines) + unmerged
