"""What of a fleet's files is found to lie in the project that is sent, and how that is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxmode.render.health import cluster_lines
from fleet.cluster import ClusterSettings, Credentials
from fleet.front import FleetHealth, list_inside

AWAY = Path("/away")
PEMS = Credentials(AWAY / "ca.pem", AWAY / "front.pem", AWAY / "front.key")
CASES = {
    "nothing": ({}, []),
    "a store elsewhere": ({"blobs": "s3://bucket/project"}, []),
    "a folder beside": ({"blobs": "file://{project}-shared"}, []),
    "blobs": ({"blobs": "file://{project}/fleet/shared"}, ["cluster.blobs"]),
    "blobs by a plain path": ({"blobs": "{project}/shared"}, ["cluster.blobs"]),
    "blobs with a blank": ({"blobs": "file://{project}/a%20b"}, ["cluster.blobs"]),
    "blobs by a way round": ({"blobs": "file://{project}/../project/x"}, ["cluster.blobs"]),
    "the seal": ({"seal": "front.key"}, ["cluster.seal"]),
    "a certificate's key": (
        {"credentials": Credentials(PEMS.ca, PEMS.certificate, Path("fleet/front.key"))},
        ["cluster.key"],
    ),
}


@pytest.mark.parametrize(("given", "found"), CASES.values(), ids=CASES)
def test_files_of_a_fleet_that_lie_in_the_project_are_listed(
    tmp_path: Path, given: dict[str, object], found: list[str]
):
    project = tmp_path / "project"
    project.mkdir()
    values = {"seal": str(AWAY / "seal.key"), "blobs": "file:///away/shared"} | given
    pems = values.get("credentials", PEMS)
    assert isinstance(pems, Credentials)
    settings = ClusterSettings(
        url="dask+tls://x",
        seal=project / str(values["seal"]),
        credentials=Credentials(*(project / one for one in (pems.ca, pems.certificate, pems.key))),
        blobs=str(values["blobs"]).format(project=project),
    )
    assert list_inside(project, settings) == found


def test_what_makes_a_fleet_slow_is_shown_below_what_works():
    health = FleetHealth("dask+tls://x", runs=True, worker="one", tier="A", run_s=0.5)
    line = "Fleet: dask+tls://x: one, tier A, a run took 0.5 s"
    assert cluster_lines(health) == [line]
    slow = FleetHealth("dask+tls://x", runs=True, worker="one", tier="A", run_s=0.5, advice="why")
    assert cluster_lines(slow) == [line, "  slow: why"]
