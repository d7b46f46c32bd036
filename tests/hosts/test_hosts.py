"""Real agents' hosts, driven by a scripted model: `./run-tests -m hosts -n 1`.

Each is installed from npm at its pinned version, once; what cannot be had is skipped, and says why.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxmode.hosts.setup.hosts import BY_NAME
from tests.conftest import NOT_APPLICABLE
from tests.hosts.catalog import HOSTS, DrivenHost
from tests.hosts.checks import Case, examine
from tests.hosts.driver import Scope
from tests.hosts.installing import NotInstalledError, cache_folder, install_host
from tests.hosts.outcomes import Outcome, report

CACHE = cache_folder()  # of the person: tests have a cache of their own each
SCOPES: tuple[Scope, ...] = ("user", "project")
CASES = [
    pytest.param(host, scope, id=f"{host.name}-{scope}")
    for host in HOSTS
    for scope in SCOPES
    if BY_NAME[host.name].servers.of(scope)
]


@pytest.fixture
def _alone() -> Iterator[None]:
    """One host at a time: their times are measured."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize(("host", "scope"), CASES)
def test_a_host_has_what_the_pages_promise(host: DrivenHost, scope: Scope, tmp_path: Path) -> None:
    try:
        program, node = install_host(host, CACHE)
    except NotInstalledError as error:
        report([Outcome(host.name, host.version, scope, "installed", "not had", str(error))])
        pytest.skip(f"{NOT_APPLICABLE}{error}")
    outcomes = list(examine(Case(host, scope, program, node), tmp_path))
    report(outcomes)
    failed = [f"{one.check}: {one.why}" for one in outcomes if one.kind == "failed"]
    assert not failed, "\n".join(failed)
