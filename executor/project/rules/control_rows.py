"""What is never committed inside a repository's own folder, whatever else of it is.

Objects, refs, the index and logs are committed as one unit, elsewhere. What says which programs a
version control system runs, or which other folder it reads, is not: no history shows such a change.
Operations in progress (`rebase-merge`, `sequencer`, …) have no row: their unit is then held whole,
and one that a run has ended must be allowed to disappear.
"""

from __future__ import annotations

from executor.project.rules.name_row import ChangeVerdict, NameRow, refuse

# Folders in which a version control system keeps what it knows.
CONTROL_FOLDERS = frozenset({".git", ".hg", ".jj", ".sl"})

_GIT = "git, whenever it runs here: "

CONTROL_ROWS: tuple[NameRow, ...] = (
    *refuse(f"{_GIT}its hooks", ".git/hooks", in_packages=True),
    *refuse(
        f"{_GIT}configuration names programs to run (pager, fsmonitor, filters, aliases)",
        ".git/config* .git/worktrees/*/config*",
        in_packages=True,
    ),
    *refuse(
        f"{_GIT}leads to another folder, whose configuration and hooks are obeyed",
        """.git/commondir .git/gitdir .git/worktrees/*/commondir .git/worktrees/*/gitdir
        .git/worktrees/*/hooks""",
        in_packages=True,
    ),
    *refuse(f"{_GIT}repositories of submodules, with hooks", ".git/modules", in_packages=True),
    *refuse(
        f"{_GIT}assigns filters to files, and no review shows it",
        ".git/info/attributes .git/worktrees/*/info/attributes",
        in_packages=True,
    ),
    *refuse(
        f"{_GIT}objects of another place are taken for this repository's",
        ".git/objects/info/alternates .git/objects/info/http-alternates .git/info/grafts",
        in_packages=True,
    ),
    *refuse(
        f"{_GIT}shows other objects under the names of known ones",
        ".git/refs/replace",
        in_packages=True,
    ),
    *refuse(
        "git and whoever looks at what changed: files that it does not show",
        ".git/info/exclude",
        in_packages=True,
    ),
    *refuse(
        f"{_GIT}old form of remotes, where it pushes",
        ".git/remotes .git/branches",
        in_packages=True,
    ),
    *refuse(
        "git daemon, which then gives the repository out",
        ".git/git-daemon-export-ok",
        in_packages=True,
    ),
    *refuse(
        "git-svn, git-branchless, Sapling, Arcanist: configuration of theirs",
        ".git/svn/.metadata .git/branchless/config .git/sl .git/arc",
        in_packages=True,
    ),
    *refuse(
        "Mercurial, whenever it runs here: hooks, extensions, aliases",
        ".hg/hgrc*",
        in_packages=True,
    ),
    *refuse(
        "Mercurial: leads to another folder, whose hgrc is obeyed",
        ".hg/sharedpath .hg/shared .hg/store/hgrc*",
        in_packages=True,
    ),
    *refuse(
        "Jujutsu, whenever it runs here: configuration, the repository that it leads to",
        ".jj",
        in_packages=True,
    ),
    *refuse("Sapling, whenever it runs here: configuration, hooks", ".sl", in_packages=True),
)
# A `.git` that is a file or a link; a folder of that name is a repository, and has no row.
GITFILE = NameRow(
    ".git (a file)",
    ChangeVerdict.NEVER,
    "git: it leads to a repository, whose configuration is obeyed",
    in_packages=True,
)
# No honest tool writes `.GIT` or `git~1`, which some file systems take for the same.
OTHERWISE_SPELT = NameRow(
    ".git (otherwise spelt)",
    ChangeVerdict.NEVER,
    "git and its kin, where the file system ignores case or has short names",
    in_packages=True,
)
