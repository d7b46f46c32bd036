"""The layers of isolation as results name them, and requests that no tier in use can meet."""

from __future__ import annotations

import os
from pathlib import Path

from base.wording import Remedy
from executor.engine.box import BoxPlace
from executor.engine.tiers import PACKAGED, STRONGEST, Capabilities
from executor.model import Isolation, Layer
from executor.project.view.record import INTERVAL_S
from executor.request import NO_NETWORK, CheckedRequest, Profile, ProjectAccess
from executor.spawner.messages import Layers


def find_unmet(checked: CheckedRequest, place: BoxPlace) -> str:
    """Return a demand of this request that the tier in use does not meet, or ""."""
    profile = checked.profile
    if profile.floor not in place.can.floors or (
        profile.network != NO_NETWORK and not place.can.network_by_allowlist
    ):
        return f"profile {profile.name} needs tier {STRONGEST}, {place.shortfall()}"
    if checked.request.packages and (unmet := find_unmet_of_packages(place)):
        return unmet
    if profile.project is ProjectAccess.LIVE and not place.can.live_project:
        return (
            f"profile {profile.name} needs tier {STRONGEST}, since others work on a copy of "
            f"the project, {place.shortfall()}"
        )
    is_session = checked.request.session is not None
    if is_session and profile.project is ProjectAccess.COMMIT and place.travels:
        return (
            f"a session with profile {profile.name} needs an engine that mounts folders of "
            "this machine, and projects travel to the one in use. To fix it, leave out "
            "`session`, or use a local engine."
        )
    return ""


def find_unmet_of_packages(place: BoxPlace) -> str:
    """Return why packages cannot be installed or shown here; "" if they can."""
    if not place.can.shows_packages:
        return f"packages need {PACKAGED}, {place.shortfall()}"
    if place.travels:
        return (
            "packages need an engine that mounts folders of this machine, and projects travel to "
            "the one in use. To fix it, use a local engine."
        )
    return ""


LIVE = "use profile build: its changes are committed when all its processes have ended"
# Why root has no tier with namespaces, and the fix.
STAYS_ROOT = "this root lacks the capabilities to run programs as another user"
BECOME_ABLE = (
    "start it as an ordinary user, or give this root its capabilities: SYS_ADMIN, CHOWN, "
    "DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID"
)
SHOWS_NOTHING = "this root lacks CAP_SYS_ADMIN, by which it shows the project to another user"
REMEDIES = {
    "namespaces": Remedy(
        "allow unprivileged user namespaces: on Ubuntu an AppArmor profile with `userns,` for this "
        "Python; elsewhere `sysctl user.max_user_namespaces=15000` (old Debian: "
        "`sysctl kernel.unprivileged_userns_clone=1`)",
        "sudo sysctl user.max_user_namespaces=15000",
    ),
    "landlock": "use Linux 5.13 or newer with `landlock` among the `lsm=` modules",
    "cgroup": Remedy(
        "start from a delegated group: `systemd-run --user --scope -p Delegate=yes …`",
        "systemd-run --user --scope -p Delegate=yes context-mode serve",
    ),
    "copy_on_write": "use Linux 5.11 or newer with the overlay file system",
    "id_mapping": "use Linux 5.19 or newer and keep the project on ext4, xfs or btrfs",
    "seccomp": "install libseccomp (Debian: libseccomp2)",
}
# In a container its options decide: the profile is Docker's own with the calls that make cells.
PROFILE = Path(__file__).parents[1] / "containers/seccomp.json"
START_CONTAINER = (
    "start the container as another user than root: `docker run --user 1001 --cap-drop ALL "
    "--security-opt seccomp=seccomp.json --security-opt systempaths=unconfined`, with the file of "
    f"`docker run --rm --entrypoint cat IMAGE {PROFILE}`; its host has to allow user namespaces"
)
LIMIT_CONTAINER = "limit the container as a whole: `docker run --memory 4g --pids-limit 1024`"
# What engines leave in their containers, and Kubernetes in the environment.
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
CONTAINER_VARIABLE = "KUBERNETES_SERVICE_HOST"


def layers(  # noqa: PLR0913 - what experiments on this machine have shown
    *,
    can: Capabilities,
    supervisor: Layers,
    filter_instructions: int,
    cgroup_version: int | None,
    why_no_cgroup: str = "",
    why_no_namespaces: str = "",
    mapped_uid: int | None = None,
    why_not_mapped: str = "",
) -> dict[str, Layer]:
    """Return every layer of the tier, by name, from the results of experiments on this machine.

    `supervisor` are the layers that the trial cell's supervisor reported. `why_no_namespaces` is
    why no tier with namespaces works. `mapped_uid` is the uid that real root's cells run as.
    """
    abi = int(supervisor.get("landlock", 0))
    if can.namespaces:
        namespaces = Layer(True, "user, mount, pid, net, ipc, uts, cgroup")
    else:
        instead = "calls that act on a process are judged one by one: only the run's own pass"
        remedy = namespaces_remedy(why_no_namespaces)
        namespaces = Layer(False, instead, why_no_namespaces, remedy)
    if cgroup_version is not None:
        cgroup = Layer(True, f"version {cgroup_version}: memory, processes")
    else:
        instead = "memory and processes by rlimits and sampling of the whole tree"
        remedy = LIMIT_CONTAINER if _is_in_container() else REMEDIES["cgroup"]
        cgroup = Layer(False, instead, why_no_cgroup, remedy)
    if can.copy_on_write:
        report = supervisor.get("copy_on_write")
        why_not = "" if report is True else str(report)
        copy_on_write = _layer("copy_on_write", why_not, "an overlay on a sized tmpfs")
    else:
        remedy = namespaces_remedy(why_no_namespaces)
        copy_on_write = Layer(False, "the project is read-only", "needs namespaces", remedy)
    named = {
        "namespaces": namespaces,
        "seccomp": Layer(True, f"calls by a table, {filter_instructions} instructions"),
        "landlock": _layer("landlock", "this kernel has no Landlock" * (abi < 1), f"ABI {abi}"),
        "cgroup": cgroup,
        "network": Layer(
            True,
            "none: an empty network namespace"
            if can.network_by_allowlist
            else "none: seccomp refuses every socket",
        ),
        "copy_on_write": copy_on_write,
    }
    if mapped_uid is not None:
        named["id_mapping"] = _layer(
            "id_mapping", why_not_mapped, f"the project's owner appears as {mapped_uid}"
        )
    elif why_no_namespaces == STAYS_ROOT:
        instead = (
            "programs run as this root, without any capability; "
            "only sampling limits how many processes they start"
        )
        named["id_mapping"] = Layer(False, instead, STAYS_ROOT, namespaces_remedy(STAYS_ROOT))
    return named


def for_run(isolation: Isolation, profile: Profile) -> Isolation:
    """Return the isolation with the openings of this profile."""
    named = dict(isolation.layers)
    if profile.network != NO_NETWORK:
        named["network"] = Layer(True, f"only, by proxy: {profile.network.describe()}")
    if passed := (*profile.env, *profile.read):
        named["passed_through"] = Layer(True, f"by the user's profile: {', '.join(passed)}")
    return Isolation(isolation.tier, named)


def with_room(isolation: Isolation, found: Layers, profile: Profile) -> Isolation:
    """Return the isolation with the kind of this run's project view."""
    if profile.project is ProjectAccess.LIVE:
        layer = Layer(
            False, "the project is bound as it is", f"profile {profile.name} asks for that", LIVE
        )
    elif profile.project is ProjectAccess.COMMIT:
        layer = Layer(True, _describe_commit(found))
    else:
        return isolation
    return Isolation(isolation.tier, {**isolation.layers, "copy_on_write": layer})


def _describe_commit(found: Layers) -> str:
    room = found.get("room")
    if room == "on disk":
        view = f"an overlay on disk, its size sampled every {INTERVAL_S:g} s"
    elif "copy_on_write" in found:
        view = f"an overlay {room or 'on a sized tmpfs'}"
    else:
        sampled = f"its size sampled every {INTERVAL_S:g} s"
        view = f"a copy of the project, {room or sampled}"
    return f"{view}; what changed is committed when all is dead"


def _layer(name: str, reason: str, detail: str) -> Layer:
    """Return a layer in force with `detail`, unless there is a reason why not."""
    return Layer(False, "", reason, REMEDIES[name]) if reason else Layer(True, detail)


def namespaces_remedy(reason: str) -> str:
    """Return the fix that makes namespaces available, for this reason."""
    if _is_in_container():
        return START_CONTAINER
    return BECOME_ABLE if reason in (STAYS_ROOT, SHOWS_NOTHING) else REMEDIES["namespaces"]


def _is_in_container() -> bool:
    return CONTAINER_VARIABLE in os.environ or any(map(os.path.exists, CONTAINER_MARKS))
