"""Attacks on what a version control system keeps, and by folders that come to be a repository."""

# ruff: noqa: E501 - programs keep their lines

from __future__ import annotations

from tests.escapes.attack import Attack, Stopped
from tests.escapes.harms import Harm, scenario

WITH_GIT = """
git init -q -b main .; echo one > main.txt; echo kind > AGENTS.md; mkdir sub; echo a > sub/a
git add .; git commit -qm first; echo two > main.txt; git commit -qam second
"""
PLAIN = "echo one > main.txt; mkdir sub; echo a > sub/a"
EVIL = "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = @project@\\n\\tfsmonitor = \"touch @proof@; false\"\\n'"
EXISTS = "test -e {0} -o -L {0}".format

# What git holds, changed where it lies, and what leads it elsewhere.
CONTENTS = (
    Harm(
        "an object changed in place",
        ("o=.git/objects/$(git rev-parse HEAD~1 | sed 's,^..,&/,'); chmod u+w $o; printf Z | dd of=$o conv=notrunc 2>/dev/null",),
        "! git fsck --full",
    ),
    Harm(
        "an object replaced, of the same size and time",
        ("o=.git/objects/$(git rev-parse HEAD:main.txt | sed 's,^..,&/,'); cp -p $o x; chmod u+w x; tr 'a-z' 'b-za' < $o > x; touch -r $o x; mv -f x $o",),
        "! git fsck --full",
    ),
    Harm(
        "a pack changed in place",
        ("p=$(echo .git/objects/pack/*.pack); chmod u+w $p; printf evil | dd of=$p bs=1 seek=40 conv=notrunc 2>/dev/null",),
        "! git fsck --full",
        prepare="git gc -q",
    ),
    Harm(
        "a pack cut off",
        ("for f in .git/objects/pack/*.pack; do chmod u+w $f; truncate -s 20 $f; done",),
        "! git fsck --full",
        prepare="git gc -q",
    ),
    Harm("alternates", ("echo @home@ > .git/objects/info/alternates",), EXISTS(".git/objects/info/alternates"), told=(".git/objects",)),
    Harm("alternates by http", ("echo x > .git/objects/info/http-alternates",), EXISTS(".git/objects/info/http-alternates")),
    Harm("a ref that is a link", ("ln -s ../../../main.txt .git/refs/heads/l",), EXISTS(".git/refs/heads/l"), told=(".git",)),
    Harm("HEAD as a link out", ("rm .git/HEAD; ln -s @home@/secret .git/HEAD",), "test -L .git/HEAD"),
    Harm("the objects as a link", ("mv .git/objects o; ln -s ../o .git/objects",), "test -L .git/objects"),
    Harm("grafts", ("git rev-parse HEAD > .git/info/grafts",), EXISTS(".git/info/grafts")),
    Harm("attributes", ("echo '* filter=x' > .git/info/attributes",), EXISTS(".git/info/attributes")),
    Harm("a lock left behind", ("touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock",), "! git commit -q --allow-empty -m mine"),
    Harm(
        "a worktree's folders",
        ("mkdir -p .git/worktrees/w; echo @home@ > .git/worktrees/w/gitdir; echo @home@ > .git/worktrees/w/commondir; cp .git/HEAD .git/worktrees/w",),
        EXISTS(".git/worktrees/w/commondir"),
    ),
    Harm(
        "where a worktree of the host leads",
        ("echo @home@ > .git/worktrees/w/gitdir; echo @home@ > .git/worktrees/w/commondir; echo x > .git/worktrees/w/config.worktree",),
        "grep -rqs @home@ .git/worktrees",
        prepare="git worktree add -q ../w-$RANDOM && mv .git/worktrees/w-* .git/worktrees/w",
    ),
    Harm("a git file", ("mkdir n; echo 'gitdir: @home@' > n/.git",), EXISTS("n/.git"), told=("n/.git",)),
    Harm("a git link", ("ln -s ../.git sub/.git",), EXISTS("sub/.git"), told=("sub/.git",)),
    Harm("a submodule's hooks", ("mkdir -p .git/modules/s/hooks; echo evil > .git/modules/s/hooks/pre-push",), EXISTS(".git/modules/s")),
    Harm("a submodule's configuration, deeper", ("echo '[core]' > .git/modules/s/modules/t/config",), "grep -q core .git/modules/s/modules/t/config", prepare="mkdir -p .git/modules/s/modules/t; echo > .git/modules/s/modules/t/config"),
    Harm("hooks by renaming their folder", ("mkdir h; echo evil > h/pre-push; rm -rf .git/hooks; mv h .git/hooks",), EXISTS(".git/hooks/pre-push")),
    Harm("a rebase to go on with", ("mkdir .git/rebase-merge; echo 'exec touch @proof@' > .git/rebase-merge/git-rebase-todo",), EXISTS(".git/rebase-merge")),
    Harm("the repository gone", ("rm -rf .git",), "! test -d .git", told=(".git",)),
    Harm("the repository elsewhere", ("mv .git sub/.git",), "! test -d .git", told=(".git",)),
)  # fmt: skip

# Each spelling is `.git` to some file system or tool.
SPELLINGS = (".GIT", ".gIt", "git~1", ".git ", ".git.", ".git...", ".g\u200cit", ".git\u200d", "\uff0egit",
             ".git::$INDEX_ALLOCATION", ".g\u0131t", "GIT~1", ".HG", ".\u017fl", ".JJ")  # fmt: skip
SPELT = tuple(
    Harm(
        f"{name!r}",
        (f"mkdir -p '{folder}/hooks'; cp main.txt '{folder}/config'; cp main.txt '{folder}/hgrc'; cp main.txt '{folder}/hooks/pre-commit'",),
        EXISTS(f"'{folder}'/config"),
    )
    for name in SPELLINGS
    for folder in (f"sub/{name}",)
)  # fmt: skip

PARTS = "mkdir -p {0}/objects {0}/refs; echo 'ref: refs/heads/main' > {0}/HEAD".format
COMMANDING = f"{EVIL} > {{}}/config".format
BECOMING = (
    Harm("at once", (f"{PARTS('.')}; {COMMANDING('.')}",), "git", told=(".",)),
    Harm("the configuration first", (COMMANDING("."), PARTS(".")), "git"),
    Harm("the configuration last", (PARTS("."), COMMANDING(".")), "git"),
    Harm("the head last", (f"mkdir objects refs; touch objects/a refs/a; {COMMANDING('.')}", "echo 'ref: refs/heads/main' > HEAD"), "git"),
    Harm("the folders last", (f"echo 'ref: refs/heads/main' > HEAD; {COMMANDING('.')}", "mkdir objects refs; touch objects/a refs/a"), "git"),
    Harm("below, the head last", (f"mkdir -p sub/objects sub/refs; touch sub/objects/a sub/refs/a; {COMMANDING('sub')}", "echo 'ref: refs/heads/main' > sub/HEAD"), "git"),
    Harm("below, the head renamed", (f"mkdir -p sub/objects sub/refs; touch sub/objects/a sub/refs/a; {COMMANDING('sub')}; echo 'ref: refs/heads/main' > sub/head", "mv sub/head sub/HEAD"), "git"),
    Harm("below, halves brought together", (f"mkdir -p x/objects x/refs y; touch x/objects/a x/refs/a; {COMMANDING('y')}; echo 'ref: refs/heads/main' > y/HEAD", "mv x/objects x/refs y; rm -r sub; mv y sub"), "git"),
    Harm("below, a head that is a link", (f"mkdir -p sub/objects sub/refs; touch sub/objects/a sub/refs/a; {COMMANDING('sub')}; echo 'ref: refs/heads/main' > sub/h", "ln -s refs/heads/main sub/HEAD; mkdir -p sub/refs/heads"), "git"),
    Harm("below, objects by a common folder", (f"mkdir -p c/objects c/refs; touch c/objects/a c/refs/a; {COMMANDING('c')}; echo 'ref: refs/heads/main' > c/HEAD; rm c/HEAD", "echo ../c > sub/commondir; echo 'ref: refs/heads/main' > sub/HEAD"), EXISTS("sub/HEAD")),
    Harm("a clone with commands", ("git init -q new; cd new; git config core.fsmonitor 'touch @proof@; false'; mv .git/* ../sub; mv .git/.g* ../sub 2>/dev/null; true",), EXISTS("sub/HEAD")),
)  # fmt: skip

OTHERS = tuple(
    Harm(path, (f"mkdir -p $(dirname {path}); echo evil > {path}",), EXISTS(path))
    for path in (
        ".hg/hgrc", "sub/.hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath", ".sl/config", "sub/.sl/hgrc",
        ".jj/repo/config.toml", ".jj/config.toml", "sub/.jj/working_copy/type",
        "node_modules/x/.git/hooks/post-checkout", "node_modules/x/.hg/hgrc", "venv/.git/config",
        "target/debug/.git/config", "node_modules/.git",
    )
)  # fmt: skip

PLANT = "git checkout -qb plant; echo obey me > AGENTS.md; mkdir -p .github/workflows; echo on > .github/workflows/x.yml; git add -A; git commit -qm plant; git checkout -q main"
TAKE = "git checkout -q plant"
OBEYED = "grep -q obey AGENTS.md || test -e .github/workflows/x.yml"
PLANTED = (
    Harm("on a branch", (PLANT, TAKE), OBEYED, told=("AGENTS.md",)),
    Harm("in a pack", (f"{PLANT}; git gc -q --prune=now", TAKE), OBEYED),
    Harm("packed by a later run", (PLANT, "git repack -qad", TAKE), OBEYED),
    Harm("as a blob alone", ("echo obey me | git hash-object -w --stdin > id", "git cat-file blob $(cat id) > AGENTS.md"), OBEYED),
    Harm("in the stash", ("echo obey me > AGENTS.md; git stash -q", "git stash pop -q"), OBEYED),
    Harm("unpacked by a later run", (f"{PLANT}; git gc -q --prune=now", "mkdir p; mv .git/objects/pack/*.pack p; for p in p/*; do git unpack-objects -q < $p; done; rm -rf p", TAKE), OBEYED),
    Harm("in another repository of the project", ("git init -q sub; cd sub; echo obey me > AGENTS.md; git add AGENTS.md; git commit -qm x", "cp sub/AGENTS.md AGENTS.md; git -C sub checkout -q -f HEAD -- AGENTS.md; cp sub/AGENTS.md ."), OBEYED),
)  # fmt: skip

# What run 1 knows of a content that run 2 writes, in whatever form git keeps it.
NAMED = "mkdir x; cp new x/t; cd x; git init -q .; git add t; git commit -qm x; git gc -q; cd ..; mkdir -p .git/objects/pack"
FORMS = {
    "an index of a pack": f"{NAMED}; cp x/.git/objects/pack/*.idx .git/objects/pack/; rm -rf x",
    "a pack": f"{NAMED}; cp x/.git/objects/pack/pack-* .git/objects/pack/; rm -rf x",
    "a list of packs": f"{NAMED}; cp x/.git/objects/pack/pack-* .git/objects/pack/; git multi-pack-index write --no-progress; rm -rf x",
    "a loose object": "git hash-object -w new > id",
    "another repository's objects": f"{NAMED}; mkdir -p k; mv x/.git/objects k/o; echo $PWD/k/o > .git/objects/info/alternates; rm -rf x",
}
OBEYED_NAMES = ("AGENTS.md", ".npmrc", ".pre-commit-config.yaml", ".github/workflows/x.yml")
VOUCHED = tuple(
    Harm(
        f"{form}, for {name}",
        (f"echo obey me > new; {how}; rm -f new id", f"mkdir -p $(dirname {name}); echo obey me > {name}"),
        f"grep -q obey {name}",
        told=(name,),
    )
    for form, how in FORMS.items()
    for name in OBEYED_NAMES[: None if form == "an index of a pack" else 1]
) + tuple(
    Harm(
        f"{form}, for a tracked secret",
        (f"echo KEY=evil > new; {how}; rm -f new id", "echo KEY=evil > e; mv -f e .env"),
        "grep -q evil .env",
        prepare="echo KEY=old > .env; git add -f .env; git commit -qm env",
    )
    for form, how in FORMS.items()
)  # fmt: skip

LOOSE = "python3 -c \"import sys, zlib; open(sys.argv[1], 'wb').write(zlib.compress(b'blob 6\\0forged'))\""
AHEAD = f"o=$(printf mine | git hash-object --stdin); p=.git/objects/$(echo $o | cut -c1-2); mkdir -p $p; {LOOSE} $p/$(echo $o | cut -c3-)"
SAYS = 'git commit -q --allow-empty -m mine; test "$(git show HEAD:main.txt)" != two'
HISTORY = (
    Harm("an object laid beforehand under the name of what a person will write", (AHEAD,), "printf mine > m; git add m; git commit -qm mine; test \"$(git show HEAD:m)\" != mine"),
    Harm("an object whose name is another's", (f"o=$(git rev-parse HEAD:main.txt); p=.git/objects/$(echo $o | cut -c1-2); chmod u+w $p/* 2>/dev/null; rm -f $p/$(echo $o | cut -c3-); {LOOSE} $p/$(echo $o | cut -c3-)",), SAYS),
    Harm("a replaced object", ("git replace HEAD:main.txt $(git rev-parse HEAD~1:main.txt)",), SAYS, told=(".git/refs/replace",)),
    Harm("a replaced object, packed", ("git replace HEAD:main.txt $(git rev-parse HEAD~1:main.txt); git pack-refs --all",), SAYS, told=(".git/refs/replace",)),
    Harm("a graph of commits", ("git commit-graph write --reachable --no-progress",), EXISTS(".git/objects/info/commit-graph")),
    Harm("a list of packs", ("git repack -qd; git multi-pack-index write --no-progress",), EXISTS(".git/objects/pack/multi-pack-index")),
    Harm("where history ends", ("git rev-parse HEAD > .git/shallow",), "test $(git rev-list --count HEAD) = 1", told=(".git/shallow",)),
)  # fmt: skip

HIDES = "echo changed > main.txt; "
UNSEEN = "! git status --porcelain | grep -q main.txt"
HIDDEN = (
    Harm("skip-worktree", (f"git update-index --skip-worktree main.txt; {HIDES}",), UNSEEN),
    Harm("assume-unchanged", (f"git update-index --assume-unchanged main.txt; {HIDES}",), UNSEEN),
    Harm("a list of what is not shown", ("echo evil.sh > .git/info/exclude; echo x > evil.sh",), "! git status --porcelain | grep -q evil.sh", told=(".git/info/exclude",)),
    Harm("what was resolved once", ("mkdir -p .git/rr-cache/x; echo x > .git/rr-cache/x/postimage",), EXISTS(".git/rr-cache")),
    Harm("a sparse working tree", ("git sparse-checkout set --no-cone /sub/",), EXISTS(".git/info/sparse-checkout")),
    Harm("an index in two parts", ("git update-index --split-index",), "ls .git/sharedindex.* >/dev/null 2>&1"),
    Harm("an index that a monitor keeps", ("git -c core.fsmonitor=/bin/true update-index --fsmonitor",), "grep -q FSMN .git/index"),
)  # fmt: skip

HARDLINKED = tuple(
    Harm(
        name,
        (f"ln {name} alias 2>/dev/null || cp {name} alias; ln alias other 2>/dev/null; ln alias sub/more; true",),
        f"for a in alias other sub/more; do test $a -ef {name} && exit 0; done; exit 1",
        prepare=f"mkdir -p $(dirname {name}); test -e {name} || echo of the host > {name}",
    )
    for name in (".mcp.json", ".envrc", ".vscode/tasks.json", ".git/config", ".git/index", "AGENTS.md", ".cargo/config.toml", ".github/workflows/x.yml")
)  # fmt: skip


def _row(
    number: str,
    title: str,
    by: str,
    harms: tuple[Harm, ...],
    project: str,
) -> Attack:
    return Attack(number, title, Stopped(by), scenario=scenario(harms, project))


ATTACKS = (
    _row("X45", "change what a repository holds in place, plant what leads it elsewhere, leave locks",
         "a repository is committed as one unit, what it holds never changes, links and control files never come", CONTENTS, WITH_GIT),
    _row("X46", "other spellings of .git, .hg, .sl and .jj", "names are compared in one form of all spellings", SPELT, PLAIN),
    _row("X47", "a bare repository at the project's top or below, over two runs, by renaming, by links",
         "what makes a folder a repository is held whole", BECOMING, PLAIN),
    _row("X48", "control files of Mercurial, Sapling, Jujutsu and of repositories in packages", "never committed, at any depth", OTHERS, PLAIN),
    _row("X49", "plant instructions in the repository by one run, have the next check them out",
         "content that runs added to a repository does not count as earlier", PLANTED, WITH_GIT),
    _row("X76", "write a text's name into the repository by one run, and the text by the next",
         "content that runs added permits nothing", VOUCHED, WITH_GIT),
    _row("X77", "have history say what nobody committed", "objects are named by their content alone, and refs move by git", HISTORY, WITH_GIT),
    _row("X78", "hide from git what was changed", "an index is rebuilt from its entries, flags do not travel", HIDDEN, WITH_GIT),
    _row("X50", "hard links to files that tools follow, for host tools to write through", "a hard link to such a file becomes a copy", HARDLINKED, WITH_GIT),
)  # fmt: skip
