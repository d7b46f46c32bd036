"""What the user's file sets of other machines, and what no project's file may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxmode.config.cluster import find_cluster_url, load_cluster, load_seal
from ctxmode.config.files import PROJECT_FILE, USER_FILE
from ctxmode.config.locations import Config
from ctxmode.errors import UsageError
from executor.model import GIB, MIB
from fleet.cluster import Credentials, Fallback, Send
from fleet.turns import Quota

URL = "dask+tls://scheduler.example.com"
FULL = f"""
[cluster]
url = "{URL}"
send = "always"
fallback = "wait"
secrets = "send"
ca = "ca.pem"
certificate = "/etc/fleet/front.pem"
key = "~/front.key"
seal = "seal.key"
at_once = 7
wait_s = 60
bytes_max = "2M"
leave_out = "big, , other"

[cluster.owners.ci]
weight = 2.5
running = 3
queued = 4
cpu_s_a_day = 100
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """What a text in the user's file, and one in the project's, configure."""
    monkeypatch.setenv("HOME", str(tmp_path))

    def make(user: str = "", project: str = "") -> Config:
        for path, text in (
            (tmp_path / "home" / USER_FILE, user),
            (tmp_path / "project" / PROJECT_FILE, project),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Config(
            (tmp_path / "project").resolve(), tmp_path, tmp_path, config_home=tmp_path / "home"
        )

    return make


def test_without_a_word_nothing_is_sent(config):
    assert find_cluster_url(config()) == ""


def test_all_keys_are_read(config, tmp_path):
    settings = load_cluster(config(FULL), URL)
    beside = tmp_path / "home" / "ctxmode"
    assert find_cluster_url(config(FULL)) == URL
    assert settings.credentials == Credentials(
        beside / "ca.pem", settings.credentials.certificate, tmp_path / "front.key"
    )
    assert str(settings.credentials.certificate) == "/etc/fleet/front.pem"
    assert (settings.url, settings.seal) == (URL, beside / "seal.key")
    assert (settings.send, settings.fallback) == (Send.ALWAYS, Fallback.WAIT)
    assert (settings.sends_secrets, settings.at_once, settings.wait_s) == (True, 7, 60)
    assert (settings.terms.leave_out, settings.terms.bytes_max) == (("big", "other"), 2 * MIB)
    assert settings.owners == {"ci": Quota(2.5, 3, 4, 100)}


def test_what_is_not_said_is_the_careful_choice(config, tmp_path):
    settings = load_cluster(config(), URL)
    assert (settings.send, settings.fallback) == (Send.OVERFLOW, Fallback.LOCAL)
    assert (settings.sends_secrets, settings.credentials) == (False, None)
    assert settings.terms.bytes_max == GIB
    assert ".git" in settings.terms.leave_out
    assert settings.seal == load_seal(config()) == tmp_path / "home" / "ctxmode" / "front.key"


def test_an_option_means_all_runs_unless_the_file_says_otherwise(config):
    asked = replace(config(), cluster=URL)
    assert find_cluster_url(asked) == URL
    assert load_cluster(asked, URL).send is Send.ALWAYS
    asked = replace(config('[cluster]\nsend = "overflow"'), cluster=URL)
    assert load_cluster(asked, URL).send is Send.OVERFLOW


@pytest.mark.parametrize("key", ["url", "ca", "key", "seal", "blobs", "fallback", "secrets"])
def test_a_project_sets_none_of_it(config, key):
    value = {"fallback": "wait", "secrets": "send"}.get(key, "theirs")
    made = config(project=f'[cluster]\n{key} = "{value}"')
    settings = load_cluster(made, URL)
    assert find_cluster_url(made) == ""
    assert settings == load_cluster(config(), URL)


WRONG = {
    "half of the certificates": (
        '[cluster]\nca = "a"\nkey = "b"',
        "cluster.certificate is missing",
    ),
    "too large a project": ('[cluster]\nbytes_max = "5G"', "bytes_max is at most 4 GiB"),
    "an unknown choice": ('[cluster]\nsend = "some"', "unknown value 'some'"),
    "an unknown key": ("[cluster]\nworkers = 3", "unknown key 'cluster.workers'"),
    "an unknown key of an owner": ("[cluster.owners.ci]\nshare = 1", "cluster.owners.ci.share"),
    "an owner that is no table": ("[cluster.owners]\nci = 1", "cluster.owners.ci must be a table"),
    "owners that are no table": ("[cluster]\nowners = 1", "cluster.owners must be a table"),
    "no whole number": ("[cluster.owners.ci]\nrunning = 1.5", "1.5 is not a whole number"),
    "a truth": ("[cluster.owners.ci]\nweight = true", "True is not a number"),
    "nothing": ("[cluster.owners.ci]\nweight = 0", "weight must be a positive"),
}


@pytest.mark.parametrize(("text", "problem"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_place(config, text, problem):
    with pytest.raises(UsageError) as caught:
        load_cluster(config(text), URL)
    assert problem in caught.value.message
    assert caught.value.hint


def test_a_projects_owners_are_refused(config):
    with pytest.raises(UsageError, match="a project cannot set owners"):
        load_cluster(config(project="[cluster.owners.me]\nweight = 9"), URL)
