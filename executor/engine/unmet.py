"""What a request demands that the tier in use can't give."""

from __future__ import annotations

from executor.engine.box import Place
from executor.engine.tiers import PACKAGED, STRONGEST
from executor.profile import ProjectAccess
from executor.request import Checked


def find_unmet(checked: Checked, place: Place) -> str:
    """What this request demands and the tier in use lacks; empty if nothing."""
    profile = checked.profile
    if profile.floor not in place.can.floors or (
        profile.network.is_open and not place.can.network_by_allowlist
    ):
        return f"profile {profile.name} needs tier {STRONGEST}, {place.shortfall()}"
    if checked.request.packages and (unmet := find_unmet_of_packages(place)):
        return unmet
    if profile.project is ProjectAccess.LIVE and not place.can.live_project:
        return (
            f"profile {profile.name} needs tier {STRONGEST}, since others work on a copy of "
            f"the project, {place.shortfall()}"
        )
    if _is_building_session(checked) and place.travels:
        return (
            f"a session with profile {profile.name} needs an engine that mounts folders of "
            "this machine, and projects travel to the one in use. To mend it, leave out "
            "`session`, or use a local engine."
        )
    return ""


def find_unmet_of_packages(place: Place) -> str:
    """Why no packages can be had or shown here; empty if they can."""
    if not place.can.shows_packages:
        return f"packages need {PACKAGED}, {place.shortfall()}"
    if place.travels:
        return (
            "packages need an engine that mounts folders of this machine, and projects travel to "
            "the one in use. To mend it, use a local engine."
        )
    return ""


def _is_building_session(checked: Checked) -> bool:
    is_session = checked.request.session is not None
    return is_session and checked.profile.project is ProjectAccess.COMMIT
