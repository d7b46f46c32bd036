"""From what refusals are learned, a row each: their words, and when a reader wants to know.

What a program tries and copes with is no news: a row that is told `if_failed` shows only where the
run did not end well. The others say what a run that ended well was kept from, too.
"""

from __future__ import annotations

import errno
from typing import NamedTuple

from executor.model import Refusal

EXACT, TOLD, INFERRED = "exact", "told", "inferred"
NOTHING = "nothing grants it"
BY_NAME = 'by name: network = ["HOST"] in a profile of yours, then through HTTPS_PROXY'


class Source(NamedTuple):
    """One way to learn of refusals. `{target}` in a remedy stands for what was tried."""

    kind: str
    by: str
    certainty: str
    remedy: str
    if_failed: bool = False
    if_error: int = 0  # of which the program's errors speak, too: it does not stand by itself

    def found(self, target: str, count: int = 1, why: str = "") -> Found:
        """One refusal of this row; `why` is what refused it said besides."""
        by = f"{self.by}: {why}" if why else self.by
        remedy = self.remedy.replace("{target}", target)
        return Found(self, Refusal(self.kind, target, by, self.certainty, count, remedy))


class Found(NamedTuple):
    """A refusal, and the row that it is of."""

    source: Source
    refusal: Refusal


SOURCES = {
    # The network.
    "proxy": Source("network", "the proxy", EXACT, 'network = ["{target}"] in a profile of yours'),
    "proxied": Source("network", "the proxy", EXACT, NOTHING),
    "name": Source(
        "network", "the cell's name server", EXACT, 'network = ["{target}"] in a profile of yours'
    ),
    "registry": Source(
        "network",
        "the cell's name server",
        EXACT,
        'packages: --packages NAME; or network = ["{target}"] in a profile of yours',
    ),
    "granted name": Source(
        "network",
        "the cell's name server",
        EXACT,
        "the profile grants it through HTTPS_PROXY alone: have the program use that",
    ),
    "stream": Source("network", "the empty network", EXACT, BY_NAME),
    "datagram": Source("network", "the empty network", EXACT, BY_NAME, if_failed=True),
    "internet": Source(
        "network",
        "seccomp, which refuses every socket in tier B",
        EXACT,
        'network = ["HOST"] in a profile of yours, which needs tier A',
    ),
    "loopback": Source(
        "network",
        "the cell's own loopback",
        INFERRED,
        'network = ["{target}"] in a profile of yours',
        if_failed=True,
        if_error=errno.ECONNREFUSED,
    ),
    "unreachable": Source("network", "the empty network", INFERRED, BY_NAME, if_failed=True),
    # Sockets of the host, which cells do not see.
    "project socket": Source(
        "socket",
        "the cell's view",
        EXACT,
        'sockets = ["{target}"] in a profile of yours whose project is "read_only" or "live"',
    ),
    "host socket": Source("socket", "the cell's view", EXACT, NOTHING),
    "library socket": Source("socket", "the cell's view", EXACT, NOTHING, if_failed=True),
    # System calls that the filter refuses.
    "call": Source("call", "seccomp", EXACT, NOTHING),
    "probe": Source("call", "seccomp", EXACT, NOTHING, if_failed=True),
    "protocol": Source("call", "seccomp", INFERRED, NOTHING, if_failed=True),
    # Files.
    "secret": Source(
        "read",
        "the cover of a secret",
        TOLD,
        "nothing shows a secret: pass what is needed by env in a profile of yours",
        if_failed=True,
    ),
    "key": Source(
        "read",
        "the cell's view, which has no keys",
        INFERRED,
        "commit with --no-gpg-sign, and sign on the host: git commit --amend -S --no-edit",
        if_failed=True,
    ),
    "absent": Source(
        "read",
        "the cell's view, which has no such path",
        INFERRED,
        'read = ["{target}"] in a profile of yours',
        if_failed=True,
    ),
    "no folder": Source(
        "write",
        "the cell's view, which has no such folder",
        INFERRED,
        "write to $TMPDIR, or to the project",
        if_failed=True,
    ),
    "process": Source("read", "the rights over another process", INFERRED, NOTHING, if_failed=True),
    "read-only": Source(
        "write",
        "a read-only view",
        INFERRED,
        "write to $TMPDIR, or to the project",
        if_failed=True,
    ),
    "read-only project": Source(
        "write",
        "a read-only project",
        INFERRED,
        'project = "cow" in a profile of yours, or profile build; both need tier A or C',
        if_failed=True,
    ),
    "privilege": Source(
        "privilege", "no capability", INFERRED, "nothing grants a capability", if_failed=True
    ),
    # What did not reach the project.
    "never": Source("commit", "never committed", EXACT, '[names] "{target}" = "commit"'),
    "held": Source("commit", "held for a person", EXACT, "`context-mode changes apply ID`"),
    "closed": Source("commit", "the host's rights", EXACT, "a right to write it"),
    "refused": Source("commit", "the commit", EXACT, NOTHING),
    "repository": Source(
        "commit",
        "the commit",
        EXACT,
        "finish what the repository is in the middle of, or `context-mode changes apply ID`",
    ),
    # Limits, whose target is their name.
    "limit": Source("limit", "the limit", EXACT, "--limit {target}=…, or [limits] {target}"),
    "full": Source(
        "limit",
        "the limit",
        EXACT,
        "--limit {target}=…, or of many files scratch_inodes; for good in [limits]",
    ),
    "met limit": Source(
        "limit", "the limit", INFERRED, "--limit {target}=…, or [limits] {target}", if_failed=True
    ),
}
