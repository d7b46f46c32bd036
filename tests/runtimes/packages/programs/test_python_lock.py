"""Locks of poetry, pdm and pipenv as a list for uv.

`locks/` holds a lock that each of them wrote (poetry 2.5, pdm 2.29, pipenv 2026.10), and beside it
what the same tool says is to be installed: `poetry export --only main`, `pdm export --prod`,
`pipenv requirements --hash`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

from runtimes.languages.python.packages.lock import PUBLIC, READERS, LockError, convert, holds

LOCKS = Path(__file__).parent / "locks"
HERE = (3, 11, 7)
DIGEST = f"sha256:{'0' * 64}"


def chosen(listed, version, system):
    """What a list installs there: by name, its version, digests and extras."""
    environ = {**default_environment(), "python_version": version, "platform_system": system}
    environ |= {"python_full_version": f"{version}.0", "extra": ""}
    found = {}
    for line in listed.replace("\\\n", " ").splitlines():
        text = line.split("--hash")[0].strip()
        if not text or text.startswith(("#", "-i")):
            continue
        one = Requirement(text)
        if one.marker is None or one.marker.evaluate(environ):
            pin = (str(one.specifier), frozenset(re.findall(r"--hash=(\S+)", line)))
            extras = found.get(one.name, (None, frozenset()))[1]
            found[one.name] = (pin, extras | one.extras)
    return found


@pytest.mark.parametrize("system", ["Linux", "Windows"])
@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.14", "3.15"])
@pytest.mark.parametrize("name", READERS)
def test_a_lock_means_what_its_own_tool_says(name, version, system):
    python = (3, int(version.partition(".")[2]), 0)
    converted = convert(name, (LOCKS / name).read_bytes(), PUBLIC, python)
    exported = (
        LOCKS / f"{name.partition('.')[0].lower().replace('pipfile', 'pipenv')}.txt"
    ).read_text()
    found = chosen(converted, version, system)
    assert found == chosen(exported, version, system)
    assert {"h11", "socksio"} <= set(found)
    assert not {"pluggy", "attrs", "toml"} & set(found), "of other groups, or of an extra"


def of_poetry(package="", *, form="2.1", python=">=3.9", files=DIGEST, groups='"main"'):
    return (
        f'[[package]]\nname = "alpha"\nversion = "1.0"\ngroups = [{groups}]\n'
        f'files = [{{file = "alpha.whl", hash = "{files}"}}]\n{package}\n'
        f'[metadata]\nlock-version = "{form}"\npython-versions = "{python}"\n'
    )


def of_pdm(
    package="", *, about='strategy = ["inherit_metadata"]', target='requires_python = ">=3"'
):
    return (
        f'[metadata]\ngroups = ["default"]\n{about}\n[[metadata.targets]]\n{target}\n'
        '[[package]]\nname = "alpha"\nversion = "1.0"\ngroups = ["default"]\n'
        f'{package or f"""files = [{{file = "alpha.whl", hash = "{DIGEST}"}}]"""}\n'
    )


def of_pipenv(*, url=PUBLIC, **package):
    alpha = {"version": "==1.0", "hashes": [DIGEST], **package}
    sources = [{"name": "pypi", "url": url}, {"name": "other", "url": "https://u:pw@x.example/s"}]
    return json.dumps({"_meta": {"sources": sources}, "default": {"alpha": alpha}})


ALPHA = f"alpha==1.0 --hash={DIGEST}\n"
OWN = "https://own.example/simple"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("poetry.lock", of_poetry(), ALPHA),
        ("poetry.lock", of_poetry(groups='"dev"'), ""),
        ("poetry.lock", of_poetry(python="^3.9 || ~4.1"), ALPHA),
        (
            "poetry.lock",
            of_poetry("markers = {main = 'os_name == \"nt\"', dev = 'os_name == \"posix\"'}"),
            f'alpha==1.0 ; os_name == "nt" --hash={DIGEST}\n',
        ),
        ("poetry.lock", of_poetry(f'[package.source]\ntype = "legacy"\nurl = "{OWN}/"'), ALPHA),
        ("pdm.lock", of_pdm(), ALPHA),
        ("Pipfile.lock", of_pipenv(), ALPHA),
        ("Pipfile.lock", of_pipenv(url=OWN), ALPHA),
        (
            "Pipfile.lock",
            of_pipenv(version="", hashes=[], markers="os_name == 'nt'"),
            "alpha ; os_name == 'nt'\n",
        ),
    ],
)
def test_what_is_taken(name, text, line):
    assert convert(name, text.encode(), OWN, HERE) == line


GIT = '[package.source]\ntype = "git"\nurl = "https://u:pw@x.example/a.git"'
ELSEWHERE = '[package.source]\ntype = "legacy"\nurl = "https://x.example/simple"'


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("poetry.lock", of_poetry(form="2.0"), "of a poetry before 2.*`poetry export"),
        ("poetry.lock", of_poetry(form="3.0"), "form 3.0 is unknown"),
        ("poetry.lock", of_poetry(python="<3.11"), r"is for Python <3.11, and this is 3.11.7"),
        ("poetry.lock", of_poetry(python="some day"), "are unclear"),
        ("poetry.lock", of_poetry(GIT), r"alpha comes from https://x.example/a.git, which is no"),
        ("poetry.lock", of_poetry(ELSEWHERE), "comes from https://x.example/simple, .* another"),
        ("poetry.lock", of_poetry(files="md5:00"), "is not a trusted digest"),
        ("poetry.lock", of_poetry().replace("hash", "hush"), "damaged"),
        ("poetry.lock", "[metadata", "damaged"),
        ("poetry.lock", of_poetry("markers = \"os_name == 'a' --hash=sha256:1\""), "not a marker"),
        ("poetry.lock", of_poetry("markers = \"os_name == 'a'\\\\\""), "not a marker"),
        ("poetry.lock", of_poetry().replace('"alpha"', '"-e ."'), "is not a package name"),
        ("poetry.lock", of_poetry().replace('"1.0"', '"1.0 x"'), "is not a version"),
        ("pdm.lock", of_pdm(about="strategy = []"), "inherit_metadata.*`pdm export"),
        ("pdm.lock", of_pdm(target='platform = "linux"'), "for single platforms.*`pdm export"),
        ("pdm.lock", of_pdm('git = "https://x.example/a.git"'), "which is not a registry"),
        ("pdm.lock", of_pdm("files = []"), "no digest of alpha 1.0"),
        (
            "pdm.lock",
            of_pdm(f'files = [{{url = "https://x.example/a.whl", hash = "{DIGEST}"}}]'),
            "another registry",
        ),
        ("Pipfile.lock", of_pipenv(git="https://x.example/a.git"), "which is not a registry"),
        (
            "Pipfile.lock",
            of_pipenv(path="./a", editable=True),
            r"from \./a, which is not a registry",
        ),
        ("Pipfile.lock", of_pipenv(index="other"), "from https://x.example/s, .* another registry"),
        ("Pipfile.lock", of_pipenv(version=">=1"), "is not one version"),
        ("Pipfile.lock", of_pipenv(hashes=[]), "no digest of alpha 1.0"),
        ("Pipfile.lock", "[]", "damaged"),
    ],
)
def test_what_is_refused_is_said_in_words(name, text, words):
    with pytest.raises(LockError, match=words) as refused:
        convert(name, text.encode(), OWN, HERE)
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "good", "bad"),
    [
        ("*", ["3.9.0", "2.7.0"], []),
        (">=3.9,<4", ["3.9.0", "3.14.2"], ["3.8.9", "4.0.0"]),
        ("^3.9", ["3.9.1", "3.14.0"], ["3.8.0", "4.0.0"]),
        ("~3.9", ["3.9.1"], ["3.10.0"]),
        ("~=3.9", ["3.9.1", "3.12.0"], ["4.0.0"]),
        ("~=3.9.2", ["3.9.2", "3.9.7"], ["3.9.1", "3.10.0"]),
        ("3.9.*", ["3.9.1"], ["3.10.0"]),
        (">=3.9,!=3.9.7, !=3.10.*", ["3.9.6", "3.11.0"], ["3.9.7", "3.10.1"]),
        (">=3.8 <3.10 || >3.11,<=3.12", ["3.9.0", "3.12.0"], ["3.10.0", "3.11.0", "3.12.1"]),
    ],
)
def test_versions_of_python_as_poetry_and_pdm_write_them(words, good, bad):
    def read(text):
        return tuple(int(part) for part in text.split("."))

    assert [one for one in good if not holds(words, read(one))] == []
    assert [one for one in bad if holds(words, read(one))] == []
