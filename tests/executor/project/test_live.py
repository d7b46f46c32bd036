"""A profile `live`: the project as it is, for what can't work on a copy, and named as weaker."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from executor import Request, Status, open_engine
from executor.request import BUILD, PROFILES, Profile, ProjectAccess
from executor.settings import Settings

LIVE = Profile("dev", ProjectAccess.LIVE)


@pytest.fixture
async def run(project: Path, state_dir: Path):
    settings = Settings(profiles={**PROFILES, "dev": LIVE})
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as executor:

        async def run_one(code: str, profile: str = "dev", **more):
            return (await executor.run(Request("shell", code, profile=profile, **more))).result

        yield run_one


def test_nothing_built_in_is_live():
    assert all(profile.project is not ProjectAccess.LIVE for profile in PROFILES.values())
    assert BUILD.project is ProjectAccess.COMMIT


@pytest.mark.tier_a
async def test_what_is_written_is_there_at_once_and_nothing_is_judged(run, project: Path):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, "echo x > made; echo evil > .envrc; until test -e go; do :; done")
        with trio.fail_after(60):
            while not (project / ".envrc").exists():  # noqa: ASYNC110 - a file tells nobody
                await trio.sleep(0.01)
        assert (project / "made").read_text() == "x\n"
        (project / "go").touch()


@pytest.mark.tier_a
@pytest.mark.parametrize("session", [None, "one"])
async def test_the_result_says_that_it_is_weaker(session, run, project: Path):
    result = await run("echo x > made", session=session)
    layer = result.isolation.layers["copy_on_write"]
    assert (result.persists, layer.active) == (True, False)
    assert "bound as it is" in layer.detail
    assert "profile build" in layer.remedy
    committed = await run("echo y > made", profile="build")  # the control
    assert committed.isolation.layers["copy_on_write"].active


@pytest.mark.tier_a
async def test_secrets_and_special_files_are_covered_all_the_same(run, project: Path):
    (project / ".env").write_text("TOKEN=canary\n")
    result = await run("cat .env; true")
    assert "canary" not in result.stdout.text + result.stderr.text
    assert (project / ".env").read_text() == "TOKEN=canary\n"


async def test_a_weaker_tier_refuses_it(run, project: Path):
    result = await run("echo x > made")
    if result.isolation.tier == "A":
        assert result.status is Status.OK
    else:
        assert result.status is Status.SANDBOX_UNAVAILABLE
        assert "profile dev needs tier A" in result.message
        assert not (project / "made").exists()
