"""Locks that poetry, pdm and pipenv wrote, as a run takes them."""

from __future__ import annotations

import hashlib
import json

import pytest

from executor import PackagesError
from tests.executor.packages.conftest import left, run_in

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

USE = "import alpha; print(alpha.VALUE)"


def poetry(pins):
    rows = [
        f'[[package]]\nname = "{name}"\nversion = "1.0"\ngroups = ["main"]\n'
        f"{f'markers = {json.dumps(marker)}' if marker else ''}\n"
        f'files = [{{file = "{name}.whl", hash = "{digest}"}}]\n'
        for name, marker, digest in pins
    ]
    return "".join(rows) + '[metadata]\nlock-version = "2.1"\npython-versions = ">=3.9"\n'


def pdm(pins):
    rows = [
        f'[[package]]\nname = "{name}"\nversion = "1.0"\ngroups = ["default"]\n'
        f"{f'marker = {json.dumps(marker)}' if marker else ''}\n"
        f'files = [{{file = "{name}.whl", hash = "{digest}"}}]\n'
        for name, marker, digest in pins
    ]
    about = '[metadata]\ngroups = ["default"]\nstrategy = ["inherit_metadata"]\n'
    return f'{about}[[metadata.targets]]\nrequires_python = ">=3.9"\n{"".join(rows)}'


def pipenv(pins):
    default = {
        name: {"version": "==1.0", "hashes": [digest], **({"markers": marker} if marker else {})}
        for name, marker, digest in pins
    }
    sources = [{"name": "pypi", "url": "https://pypi.org/simple"}]
    return json.dumps({"_meta": {"sources": sources}, "default": default})


TOOLS = {"poetry.lock": poetry, "pdm.lock": pdm, "Pipfile.lock": pipenv}


def whole(digests):
    return [("alpha", "", digests["alpha"]), ("beta", "", digests["beta"])]


def excluding(digests):
    """What the marker excludes is not even there."""
    return [*whole(digests), ("gamma", "python_version < '3'", digests["alpha"])]


def lacking(digests):
    """The marker excludes what is needed here."""
    return [whole(digests)[0], ("beta", "python_version < '3'", digests["beta"])]


def wrong(digests):
    return [("alpha", "", f"sha256:{'0' * 64}"), ("beta", "", digests["beta"])]


@pytest.mark.parametrize(
    ("choose", "words"),
    [
        (whole, ""),
        (excluding, ""),
        (lacking, "does not hold the digests of all required packages"),
        (wrong, "not what the lock's digest says"),
    ],
)
@pytest.mark.parametrize("name", TOOLS)
async def test_a_lock_is_installed_as_it_is(  # noqa: PLR0917 - fixtures
    engine, index, project, kept, name, choose, words
):
    contents = {
        "alpha": index.add("alpha", files={"alpha.py": b"from beta import *\n"}, requires=["beta"]),
        "beta": index.add("beta", files={"beta.py": b"VALUE = 7\n"}),
    }
    index.add("beta", "2.0", {"beta.py": b"VALUE = 8\n"})
    digests = {
        one: f"sha256:{hashlib.sha256(content).hexdigest()}" for one, content in contents.items()
    }
    (project / name).write_text(TOOLS[name](choose(digests)))
    if words:
        with pytest.raises(PackagesError, match=words):
            await run_in(engine, "python", USE, name)
        assert left(kept) == []
    else:
        result = await run_in(engine, "python", USE, name)
        assert (result.stdout.text, result.packages) == ("7\n", "now")


async def test_a_lock_that_is_refused_says_what_to_do(engine, project, kept):
    old = '[[package]]\nname = "alpha"\n[metadata]\nlock-version = "2.0"\npython-versions = "*"\n'
    (project / "poetry.lock").write_text(old)
    with pytest.raises(PackagesError, match=r"(?s)cannot be used as it is\n.*`poetry export"):
        await run_in(engine, "python", USE, "poetry.lock")
    assert left(kept) == []
