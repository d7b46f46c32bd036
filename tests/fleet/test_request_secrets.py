"""A request's own values: which of them is a secret is told, and the secret itself never."""

from __future__ import annotations

import pytest

from executor.model import Request
from fleet.snapshot import find_secret

# Put together here, so that this file holds none.
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
PRIVATE_KEY = "-----BEGIN " + "RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA1c7+9z5Pad7Oejecs\n" * 6
URL = "postgres://app:" + "x8Kd03mQpZ" + "@db.internal/app"

SECRET = [
    ({"env": {"GITHUB_TOKEN": "x"}}, "env GITHUB_TOKEN has a secret's name"),
    ({"env": {"dbPassword": "x"}}, "env dbPassword has a secret's name"),
    ({"env": {"A": "1", "B": TOKEN}}, "env B holds a github-token"),
    ({"env": {"DATABASE_URL": URL}}, "env DATABASE_URL holds a url-password"),
    ({"env": {TOKEN: "1"}}, "the name of a variable holds a github-token"),
    ({"stdin": b"\0\xff" * 500 + TOKEN.encode()}, "stdin holds a github-token"),
    ({"stdin": PRIVATE_KEY.encode()}, "stdin holds a private-key"),
    ({"files": {"a.txt": TOKEN.encode()}}, "file a.txt holds a github-token"),
    ({"files": {"conf/.env": b"A=1"}}, "file conf/.env has a secret's name"),
    ({"files": {".aws/sso/cache/t.json": b"{"}}, "file .aws/sso/cache/t.json has"),
    ({"code": f"print('{TOKEN}')"}, "the code holds a github-token"),
    ({"code": 'api_key = "' + "x8Kd03mQpZ71LmWv" + '"'}, "the code holds a key"),
    ({"args": ("-H", f"X: {TOKEN}")}, "an argument holds a github-token"),
    ({"packages": (f"git+https://{TOKEN}@h/p",)}, "the name of a package holds a github-token"),
    ({"artifacts": (f"{TOKEN}/*",)}, "the name of an artifact holds a github-token"),
    ({"intent": f"find {TOKEN}"}, "the intent holds a github-token"),
]
PLAIN = [
    {},
    {"env": {"GITHUB_TOKEN": ""}},  # a program is told that it has none
    {"env": {"PWD": "/project/src", "OLDPWD": "/project", "MAX_TOKENS": "4096"}},
    {"env": {"TOKEN_FILE": "/run/token", "LANG": "C.UTF-8"}},
    {"code": "password = input()\ntoken = os.environ['TOKEN']\n"},
    {"files": {"keys.py": b"def key(): ...", ".env.example": b"TOKEN="}},
    {"stdin": bytes(range(256)) * 100},
    {"env": {"A": "\udcff"}, "code": "\ud800", "args": ("\udc80",)},  # no UTF-8
]


@pytest.mark.parametrize(("values", "told"), SECRET)
def test_a_secret_value_is_told_by_its_place_and_not_shown(values, told):
    found = find_secret(Request("python", **{"code": "1", **values}))
    assert found.startswith(told)
    assert not any(secret in found for secret in (TOKEN, "x8Kd03mQpZ", "MIIEpAIB"))


@pytest.mark.parametrize("values", PLAIN)
def test_what_only_speaks_of_secrets_is_sent(values):
    assert find_secret(Request("python", **{"code": "1", **values})) == ""


def test_a_name_that_could_not_be_shown_is_shortened():
    found = find_secret(Request("python", "1", env={"A\n" * 500 + "_TOKEN": "x"}))
    assert found.endswith("has a secret's name")
    assert len(found) < 200
    assert "\n" not in found
