"""Images made by a real engine: proven before they count, and nothing is left beside them."""

import pytest
import trio

from images import inventory
from images.groups import BASE_LABEL, LABEL, reference, toolchains_reference
from images.image_build import Builder
from images.inventory import ImageError

STAGED = "FROM ${BASE} AS installed\nARG STAGE\nLABEL context-mode.stage=${STAGE} test=NAME\n"
GOOD = (
    f"ARG BASE\n{STAGED}USER 0:0\nCOPY build /build\nRUN chmod u+s /bin/sh\nRUN /build/finish\n"
    "FROM scratch\nCOPY --from=installed / /\n"
)
DEADLINE_S = 300
PLAIN = "ARG BASE\nFROM ${BASE}\nUSER 0:0\n"
BROKEN = f"ARG BASE\n{STAGED}RUN echo a word in parting && exit 3\n"
ENDLESS = f"ARG BASE\n{STAGED}RUN while :; do echo still here; sleep 0.1; done\n"
SETUID = "find / -xdev -type f -perm /6000; ls -d /build; id -u; id -un 65432"


async def make(api, *groups, **terms):
    reported: list[str] = []
    made = await Builder(reported.append, **terms).make(api, groups)
    return made, "\n".join(reported)


def in_image(api, image: str, command: str) -> str:
    container = api.create_container(
        image,
        entrypoint=["sh", "-c", command],
        host_config=api.create_host_config(network_mode="none"),
    )
    try:
        api.start(container)
        api.wait(container)
        return api.logs(container, stderr=False).decode()
    finally:
        api.remove_container(container, force=True)


def left_by(api, group) -> list:
    """What the steps of a group's builds and its checks did not take away."""
    in_steps, in_checks = {"label": f"test={group.name}"}, {"label": f"{LABEL}={group.name}"}
    of_checks = api.containers(all=True, filters=in_checks)
    return api.images(filters=in_steps) + api.containers(all=True, filters=in_steps) + of_checks


async def test_an_image_is_made_and_proven_and_made_only_once(api, base, new_group, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://proxy-of-this-host.example:3128")
    group = new_group(GOOD, ("python", "shell"))
    (made,), reported = await make(api, group, base=base)
    assert made.error is None, made.error and made.error.output
    assert {check.language for check in made.checks if check.start_ms} == {"python", "shell"}
    assert made.size_bytes > 0
    assert "FROM scratch" in reported
    assert in_image(api, made.reference, SETUID).split() == ["65432", "sandbox"]

    labels = api.inspect_image(made.reference)["Config"]["Labels"]
    assert labels[LABEL] == group.name
    assert labels[BASE_LABEL] == api.inspect_image(base)["Id"]
    told = f"{api.history(made.reference)}{api.inspect_image(made.reference)}"
    assert "proxy-of-this-host" not in told
    assert left_by(api, group) == []

    (again,), reported = await make(api, group)
    assert again.error is None
    assert "FROM scratch" not in reported, "its toolchains were built again"

    removed = await inventory.remove(api, (group,))
    assert set(removed) == {reference(group), toolchains_reference(group)}
    (state,) = await inventory.survey(api, (group,))
    assert state.state is inventory.State.MISSING


async def test_a_step_that_fails_is_told_with_what_it_printed_and_keeps_no_other_back(
    api, base, new_group
):
    broken, good = new_group(BROKEN), new_group(PLAIN)
    made, _ = await make(api, broken, good, base=base)
    assert made[0].error is not None
    assert "returned a non-zero code: 3" in made[0].error.message
    assert "a word in parting" in made[0].error.output
    assert made[1].error is None
    assert left_by(api, broken) == []


async def test_a_build_that_is_given_up_ends_and_leaves_nothing(api, base, new_group):
    group, begun = new_group(ENDLESS), trio.Event()

    def report(line: str) -> None:
        if "RUN while" in line:
            trio.from_thread.run_sync(begun.set)

    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Builder(report, base=base).make, api, (group,))
            await begun.wait()
            nursery.cancel_scope.cancel()
    assert left_by(api, group) == []
    (state,) = await inventory.survey(api, (group,))
    assert state.state is inventory.State.MISSING


async def test_an_image_in_which_a_language_does_not_run_does_not_pass(api, base, new_group):
    group = new_group(PLAIN, ("elixir",))
    (made,), _ = await make(api, group, base=base)
    assert made.error is not None
    assert "elixir does not run" in made.error.message
    (state,) = await inventory.survey(api, (group,))
    assert state.state is inventory.State.MISSING


async def test_a_base_that_nobody_has_is_refused_with_what_to_do(api, new_group):
    group = new_group(PLAIN)
    (made,), _ = await make(api, group, base="localhost:1/no-such-image:1")
    assert made.error is not None
    assert "cannot pull localhost:1/no-such-image:1" in made.error.message
    assert "--base" in made.error.hint


@pytest.mark.parametrize("outdated_only", [True, False])
async def test_what_is_there_is_told_apart_and_only_what_is_asked_is_removed(
    api, new_group, plant, outdated_only
):
    group, other = new_group("FROM scratch\n"), new_group("FROM scratch\n")
    current = plant(group, reference(group).rpartition(":")[2])
    old, foreign = plant(group, "old"), plant(other, "old")
    assert [
        (it.state.value, it.reference, bool(it.remedy))
        for it in await inventory.survey(api, (group, other))
    ] == [("current", current, False), ("outdated", old, True), ("outdated", foreign, True)]

    removed = await inventory.remove(api, (group,), outdated_only=outdated_only)
    assert set(removed) == ({old} if outdated_only else {old, current})
    assert api.images(name=foreign)


async def test_an_image_in_use_is_not_removed(api, new_group, plant):
    group = new_group("FROM scratch\n")
    name = plant(group, "old")
    container = api.create_container(name, command=["none"])
    try:
        with pytest.raises(ImageError, match="cannot remove") as refused:
            await inventory.remove(api, (group,))
        assert "Stop what uses it" in refused.value.hint
    finally:
        api.remove_container(container)
