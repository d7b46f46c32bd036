"""How a cell is described for a tier and a profile, the spawner being a stand-in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from executor import Isolation, Limits
from executor.cells.placement import Placement
from executor.engine.box import UNPRIVILEGED_ID, Order
from executor.model import Layer
from executor.project.view.search import ProjectSearch
from executor.request import ANALYZE, BUILD, Profile, ProjectAccess

LIVE = Profile("live", ProjectAccess.LIVE)


@dataclass
class Spawner:
    uid: int = 1000
    gid: int = 1000
    staged: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def source(self, path: str) -> str:
        return self.staged.get(path, path)


@pytest.fixture
def place(tmp_path: Path) -> Placement:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("KEY=value")
    (project / "notes.txt").write_text("words")
    lacking = {"namespaces": Layer(False, "", "they are forbidden", "allow them")}
    spawner: Any = Spawner()
    return Placement(
        "A",
        Isolation("A", lacking),
        ProjectSearch(project),
        spawner,
        tmp_path / "temporary",
        repository=(),
        rooms=tmp_path / "rooms",
    )


ORDER = Order((), "/", {}, Limits())


def described(place: Placement, profile: Profile, *, session: bool = False, **more: Any) -> Any:
    order = replace(ORDER, profile=profile, **more)
    return place.cell(order, place.layout(profile), session=session)


def test_in_tier_a_a_run_has_no_folder_on_the_host(place: Placement):
    layout = place.layout(ANALYZE)
    assert (layout.host_folder, layout.room, layout.work_copy) == (None, "", None)


def test_what_is_to_be_committed_lies_in_a_room_of_the_host(place: Placement, tmp_path: Path):
    record: Any = object()
    layout = place.layout(BUILD, record)
    assert Path(layout.room).parent == tmp_path / "rooms"
    layout.remove()
    assert not Path(layout.room).exists()


@pytest.mark.parametrize(
    ("tier", "profile", "access"),
    [
        ("A", ANALYZE, ProjectAccess.COPY_ON_WRITE),
        ("A", BUILD, ProjectAccess.COMMIT),
        ("A", LIVE, ProjectAccess.LIVE),
        ("B", ANALYZE, ProjectAccess.READ_ONLY),
    ],
)
def test_the_project_is_shown_as_the_tier_can(place, tier, profile, access):
    place = replace(place, tier=tier)
    layout = replace(place.layout(ANALYZE), work_copy=None) if tier == "A" else _plain(place)
    assert place.cell(replace(ORDER, profile=profile), layout).access is access


def _plain(place: Placement) -> Any:
    return replace(replace(place, tier="A").layout(ANALYZE), scratch="/tmp/x", job="/tmp/y")


def test_a_project_that_could_not_be_staged_is_read_only(place: Placement):
    spawner: Any = Spawner(refused={str(place.project): "no mapped ids"})
    assert described(replace(place, spawner=spawner), ANALYZE).access is ProjectAccess.READ_ONLY


def test_secrets_are_guarded_in_every_view(place: Placement):
    assert ".env" in described(place, ANALYZE).guarded.paths
    assert ".env" in described(place, LIVE).guarded.paths


def test_a_description_is_kept_until_what_it_says_differs(place: Placement):
    first = described(place, ANALYZE)
    assert described(place, ANALYZE) is first
    (place.project / "id_rsa").write_text("KEY")
    second = described(place, ANALYZE)
    assert second.guarded.secrets == (".env", "id_rsa")
    for more in ({"session": True}, {"limits": Limits(processes=9)}, {"binds": ("/opt/x",)}):
        assert described(place, ANALYZE, **more) not in (first, second), more
    assert described(place, LIVE).access is ProjectAccess.LIVE


def test_paths_that_a_profile_shows_are_looked_for_each_time(place: Placement, tmp_path: Path):
    shown = tmp_path / "shown"
    profile = replace(ANALYZE, read=(str(shown),))
    assert str(shown) not in dict(described(place, profile).binds).values()
    shown.mkdir()
    assert str(shown) in dict(described(place, profile).binds).values()


def test_only_single_runs_that_commit_nothing_tell_of_their_exit(place: Placement):
    plain = described(place, ANALYZE)
    assert plain.heavy_notices != plain.notices
    for spec in (described(place, ANALYZE, session=True), described(place, BUILD)):
        assert spec.heavy_notices == spec.notices


def test_no_cell_has_the_number_of_root(place: Placement):
    spawner: Any = Spawner(uid=0, gid=0)
    spec = described(replace(place, spawner=spawner), ANALYZE)
    assert (spec.uid, spec.gid) == (UNPRIVILEGED_ID, UNPRIVILEGED_ID)


def test_paths_are_those_that_the_spawner_reaches(place: Placement):
    spawner: Any = Spawner(staged={str(place.project): "/staged/1", "/opt/tool": "/staged/2"})
    place = replace(place, spawner=spawner)
    spec = described(place, ANALYZE, shown=(("/opt/tool/lib", "/job/lib"),))
    assert spec.project_source == "/staged/1"
    assert spec.shown == (("/staged/2/lib", "/job/lib"),)


def test_without_the_project_nothing_of_it_is_shown(place: Placement, tmp_path: Path):
    spec = described(place, ANALYZE, substitute="stand-in")
    assert spec.project_source == f"{tmp_path}/temporary/stand-in"
    assert (spec.access, spec.guarded.paths) == (ProjectAccess.READ_ONLY, ())


def test_what_a_weaker_tier_lacks_is_said_with_what_helps(place: Placement):
    said = replace(place, tier="B").shortfall()
    assert said.startswith("and this machine gives tier B: they are forbidden.")
    assert said.endswith("To fix it, allow them.")


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_room_whose_ids_cannot_be_mapped_is_not_used(place: Placement, is_refused):
    record: Any = object()
    spawner: Any = place.spawner
    if is_refused:
        spawner.refused[str(place.rooms)] = "id map: EINVAL"
    layout = place.layout(BUILD, record)
    assert bool(layout.room) is not is_refused
    layout.remove()
