"""Spellings of options that mean the same, per program and subcommand.

A rule that names `-rf` is about recursion and force, however they are written. Each row lists
groups of spellings; the first stands for the group, and `D=d+f` says that one option is two others
together. Long names that only share a prefix are listed too, so that shortened spellings resolve as
the program itself would. From the programs' manuals.
"""

from __future__ import annotations

import functools
from typing import NamedTuple


class OptionNames(NamedTuple):
    """`canonical` maps every spelling to its groups; `operand_marks` a leading character to one."""

    canonical: dict[str, tuple[str, ...]]
    long_names: tuple[str, ...]
    operand_marks: dict[str, str]


_ROWS: dict[str, str] = {
    "rm": "r=R=recursive f=force i I interactive v=verbose d=dir one-file-system no-preserve-root "
    "preserve-root help version",
    "cp": "r=R=recursive f=force a=archive i=interactive n=no-clobber v=verbose remove-destination "
    "p=preserve reflink u=update",
    "mv": "f=force i=interactive n=no-clobber v=verbose u=update",
    "ln": "s=symbolic f=force v=verbose n=no-dereference",
    "chmod": "R=recursive v=verbose c=changes f=silent=quiet reference",
    "chown": "R=recursive v=verbose c=changes f=silent=quiet reference from h=no-dereference",
    "mkdir": "p=parents m=mode v=verbose",
    "ls": "a=all A=almost-all R=recursive",
    "grep": "r=R=recursive=dereference-recursive i=ignore-case v=invert-match",
    "sed": "i=in-place n=quiet=silent E=r=regexp-extended",
    "kill": "9=KILL=SIGKILL s=signal",
    "tar": "x=extract=get c=create t=list f=file z=gzip",
    "rsync": "delete n=dry-run r=recursive a=archive",
    "curl": "X=request d=data F=form T=upload-file o=output O=remote-name k=insecure L=location",
    "npm": "g=global f=force",
    "pip": "U=upgrade e=editable r=requirement",
    "git push": "f=force force-with-lease force-if-includes d=delete n=dry-run u=set-upstream "
    "all mirror tags follow-tags no-verify prune +=f",
    "git clean": "f=force d x X n=dry-run i=interactive e=exclude q=quiet",
    "git branch": "D=d+f d=delete f=force m=move M=m+f",
    "git checkout": "f=force b B p=patch theirs ours",
    "git commit": "n=no-verify a=all m=message amend no-edit s=signoff S=gpg-sign",
    "git reset": "hard soft mixed keep merge",
    "git rebase": "i=interactive x=exec onto f=force-rebase",
    "git tag": "d=delete f=force a=annotate s=sign",
    "git remote": "v=verbose",
    "git stash": "u=include-untracked a=all",
    "docker rm": "f=force v=volumes l=link",
    "docker rmi": "f=force no-prune",
    "docker run": "privileged rm i=interactive t=tty v=volume d=detach",
    "docker system": "a=all f=force volumes",
    "kubectl delete": "f=filename force all n=namespace grace-period",
    "kubectl apply": "f=filename k=kustomize force",
    "terraform destroy": "auto-approve",
    "terraform apply": "auto-approve destroy",
}


@functools.cache
def option_names(program: str, subcommand: str | None) -> OptionNames:
    """What is known of a program's option spellings, or of one subcommand's."""
    row = _ROWS.get(f"{program} {subcommand}") or _ROWS.get(program, "")
    canonical: dict[str, tuple[str, ...]] = {}
    operand_marks: dict[str, str] = {}
    for group in row.split():
        first, *others = group.split("=")
        if not first.isalnum() and len(first) == 1:
            operand_marks[first] = others[0]
        elif others and "+" in others[0]:
            canonical[first] = tuple(others[0].split("+"))
        else:
            canonical.update(dict.fromkeys([first, *others], (first,)))
    return OptionNames(canonical, tuple(n for n in canonical if len(n) > 1), operand_marks)


def canonical_names(names: OptionNames, name: str) -> tuple[str, ...]:
    """The groups an option belongs to; of a long option that is shortened all that it may be."""
    if name in names.canonical or len(name) < 2:
        return names.canonical.get(name, (name,))
    groups = {
        group for full in names.long_names if full.startswith(name)
        for group in names.canonical[full]
    }  # fmt: skip
    return tuple(groups) or (name,)
