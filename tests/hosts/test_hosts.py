"""Real agents' hosts, driven by a scripted model: `./run-tests -m hosts -n 1`.

Each is installed from npm at its pinned version, once; what cannot be had is skipped, and says why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxmode.hosts.setup.hosts import BY_NAME, Scope
from tests.conftest import NOT_APPLICABLE
from tests.hosts.catalog import HOSTS, DrivenHost
from tests.hosts.checks import Case, examine
from tests.hosts.installing import NotInstalledError, install_host
from tests.hosts.outcomes import Outcome, report

CASES = [
    pytest.param(host, scope, id=f"{host.name}-{scope}")
    for host in HOSTS
    for scope in host.scopes
    if BY_NAME[host.name].servers.get(scope, "")
]


@pytest.mark.parametrize(("host", "scope"), CASES)
def test_a_host_has_what_the_pages_promise(
    host: DrivenHost, scope: Scope, cache: Path, tmp_path: Path
) -> None:
    try:
        program, node = install_host(host, cache)
    except NotInstalledError as error:
        report([Outcome(host.name, host.version, scope, "installed", "not had", str(error))])
        pytest.skip(f"{NOT_APPLICABLE}{error}")
    outcomes = list(examine(Case(host, scope, program, node), tmp_path))
    report(outcomes)
    failed = [f"{one.check}: {one.why}" for one in outcomes if one.kind == "failed"]
    assert not failed, "\n".join(failed)
