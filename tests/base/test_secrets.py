"""The detector finds what is secret, all of it and nothing else, in linear time."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.secrets import (
    Secret,
    assignments,
    blocks,
    command_lines,
    detector,
    find_secrets,
    is_secret_path,
    readings,
    redact,
    secret_names,
    tokens,
)
from base.secrets.readings import Expression, Reading
from base.secrets.secret_names import is_secret_name
from base.secrets.tokens import TOKEN_FORMS
from base.wordlist import words
from tests.base.ordinary_texts import TEXTS
from tests.base.secret_corpus import NEGATIVES, POSITIVES, PRIVATE_KEYS

# The standard library has no other reader of expressions.
constants: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")


def test_the_corpus_is_large():
    assert len(POSITIVES) + len(PRIVATE_KEYS) >= 80
    assert len(NEGATIVES) >= 80


@pytest.mark.parametrize(("kind", "before", "secret", "after"), POSITIVES)
def test_a_secret_is_found_with_its_kind_and_exactly(kind, before, secret, after):
    text = before + secret + after
    assert redact(text)[0] == f"{before}[REDACTED:{kind}]{after}"
    in_bytes, secrets = redact(text.encode())
    assert in_bytes == f"{before}[REDACTED:{kind}]{after}".encode()
    assert len(secrets) == 1


@pytest.mark.parametrize("text", NEGATIVES)
def test_what_is_no_secret_is_left_alone(text):
    assert redact(text)[0] == text


def test_of_ordinary_lines_hardly_one_in_a_thousand_loses_a_word():
    lines = sum(len(text.splitlines()) for text in TEXTS.values())
    masks = [text[s.start : s.end] for text in TEXTS.values() for s in find_secrets(text)]
    assert lines > 2000
    assert len(masks) <= lines / 1000, masks


def test_a_secret_among_ordinary_lines_is_found():
    """The control: the same lines around a secret hide none."""
    for kind, before, secret, after in POSITIVES:
        for text in (TEXTS["environment"], TEXTS["manifests"]):
            shown = redact(f"{text}\n{before}{secret}{after}\n{text}")[0]
            assert f"{before}[REDACTED:{kind}]{after}" in shown


def has_any(text: bytes, marks: tuple[bytes, ...]) -> bool:
    """Tell whether a short text has one of the marks, and a long one that ends with it."""
    return all(
        any(mark in reading.lowered for mark in reading.select(marks))
        for reading in (Reading(text), Reading(b"x\n" * readings.SHORT_BYTES + text))
    )


@pytest.mark.parametrize("form", command_lines.FORMS, ids=lambda form: form.expression.decode())
def test_the_finder_of_a_form_is_asked_wherever_its_mark_stands(form):
    (marks,) = (marks for _, name, marks in detector.FINDERS if name == "find_in_command_lines")
    follows = form.follows[:1] or (b"",)
    assert all(has_any(mark + follows[0] + form.needs, marks) for mark in form.marks)


@pytest.mark.parametrize("block", PRIVATE_KEYS)
@pytest.mark.parametrize("is_cut_off", [False, True])
def test_a_private_key_loses_its_whole_body_and_keeps_its_armour(block, is_cut_off):
    head, tail = block.index("KEY"), block.index("-----END")
    text = f"before\n{block[:tail] if is_cut_off else block}\nafter the key"
    redacted, secrets = redact(text)
    assert [secret.kind for secret in secrets] == ["private-key"]
    assert block[:head] in redacted
    assert redacted.endswith("after the key")
    assert not re.search(r"[A-Za-z0-9+/]{20}", redacted.replace("REDACTED:private-key", ""))


def test_a_private_key_with_headers_loses_its_body():
    body = "\n".join("Ab7+" * 16 for _ in range(3))
    text = (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n"
        f"{body}\n-----END RSA PRIVATE KEY-----\n"
    )
    assert "Ab7+Ab7+" not in redact(text)[0]


def test_several_secrets_of_one_text_are_all_found_in_order():
    texts = [before + secret + after for _, before, secret, after in POSITIVES]
    found = find_secrets("\n\n".join(texts))
    assert len(found) >= len(POSITIVES)
    assert list(found) == sorted(found, key=lambda secret: secret.start)
    assert all(one.end <= two.start for one, two in itertools.pairwise(found))


def test_ranges_are_characters_of_str_and_bytes_of_bytes():
    text = "ä password: hunter2\nö: ü\npassword: hünter2\n"
    for given_text in (text, text.encode()):
        values = [given_text[s.start : s.end] for s in find_secrets(given_text)]
        assert values == [v if isinstance(given_text, str) else v.encode() for v in ("hünter2",)]


def test_bytes_that_are_no_text_are_searched_all_the_same():
    assert find_secrets(b"\xff\xfe\x00\npassword=hunter2\n\xff") == (Secret("password", 13, 20),)


@given(st.lists(st.sampled_from([b + s + a for _, b, s, a in POSITIVES] + list(NEGATIVES))))
def test_redacting_again_changes_nothing(texts):
    once = redact("\n".join(texts))[0]
    assert redact(once)[0] == once


@given(st.one_of(st.text(), st.binary()))
def test_no_text_upsets_it_and_what_is_no_secret_stays(text):
    redacted, secrets = redact(text)
    at = 0
    for secret in secrets:
        assert at <= secret.start < secret.end <= len(text)
        at = secret.end
    if not secrets:
        assert redacted == text


HOSTILE = (
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\n" + "A" * 40 + "\n",
    "://a:b",
    "://a:b@",
    "eyJ-",
    "eyJabcdefghij.",
    "password=",
    "password: ",
    "--password=",
    "pwd='",
    'token="\\"',
    "secret`",
    "token" * 3,
    "a.b-c_password",
    "sk-",
    "Bearer ",
    "sig=%",
    "authorization: basic ",
    "AIza",
    " " * 30 + "pwd" + " " * 30,
    "<password>",
    "x" * 20,
    "curl -u ",
    "mysql ",
    "redis-cli -a",
    " login -p",
    "machine a login b ",
    "name=",
    'name="password" ',
    "cookie: sess",
    "echo a",
    "$6$",
    "PWD=/a/",
    "token: a-",
    "secret: a1",
    "; password=a",
    "host=a password=b ",
    *(
        "\\",
        "\\u0067",
        "%41",
        "&amp;",
        "&#1",
        "\x1b]",
        "\x1b[",
        "g\bg",
        "_\b",
        "eyJ\u200b",
        "\\u001b[m",
    ),
    *("nvapi-EXAMPLE-", "x\x1b[mnvapi-", "=\n", "a\n\\a\n"),
)


def test_long_hostile_text_is_soon_read():
    """Work that grew with the square of the length would take a minute for a single one of them."""
    code = (
        "import json, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (45, 45))\n"
        "from base.secrets import find_secrets\n"
        "for unit in json.load(sys.stdin):\n"
        "    find_secrets((unit * (250_000 // len(unit))).encode())\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(HOSTILE), text=True, check=True, timeout=300
    )


def expressions() -> list[tuple[str, str]]:
    found = []
    for module in (assignments, blocks, tokens, secret_names):
        for name, value in vars(module).items():
            if isinstance(value, Expression):
                found.append((f"{module.__name__}.{name}", value.compiled.pattern.decode()))
    found += [(form.kind, form.expression.decode()) for form in command_lines.FORMS]
    return found + [(form.kind, form.expression.decode()) for form in TOKEN_FORMS]


def gives_back(parts: Any, *, is_kept: bool = False) -> bool:
    """Whether an unbounded repetition can give back what it took: it is neither possessive nor what
    an atomic group ends with."""
    for index, (kind, of) in enumerate(parts):
        is_end = is_kept and index == len(parts) - 1
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT):
            is_unbounded = of[1] is constants.MAXREPEAT
            is_fixed = kind is constants.POSSESSIVE_REPEAT or is_end
            found = (is_unbounded and not is_fixed) or gives_back(of[2])
        elif kind is constants.SUBPATTERN:
            found = gives_back(of[3], is_kept=is_end)
        elif kind is constants.ATOMIC_GROUP:
            found = gives_back(of, is_kept=True)
        elif kind is constants.BRANCH:
            found = any(gives_back(way, is_kept=is_end) for way in of[1])
        else:
            found = kind in (constants.ASSERT, constants.ASSERT_NOT) and gives_back(of[1])
        if found:
            return True
    return False


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("a*b", True), ("(?:a|b+)c", True), ("(?>a*)b", False), ("(?>a*b)", True), ("a*+b", False)],
)
def test_the_check_knows_what_gives_back(expression, expected):
    assert gives_back(parser.parse(expression)) is expected


@pytest.mark.parametrize(("name", "expression"), expressions())
def test_no_expression_gives_back_what_an_unbounded_repetition_took(name, expression):
    assert not gives_back(parser.parse(expression))


@pytest.mark.parametrize("before", range(-44, 4))
def test_a_token_is_found_across_the_blocks_that_a_long_text_is_read_in(before):
    token = b"ghp_" + b"a1B2c3D4e5" * 4
    text = b"# " * (readings.BLOCK_BYTES // 2 + before)
    assert find_secrets(text + token + b" # end") == (
        Secret("github-token", len(text), len(text) + len(token)),
    )


@pytest.mark.parametrize("keyword", secret_names.KEYWORDS)
def test_every_keyword_is_seen_wherever_it_stands(keyword):
    for text in (keyword, b"key " + keyword, b"a_key=" + keyword + b"key", b"x" + keyword + b"=1"):
        assert has_any(text, secret_names.MARKS)
        start = text.index(keyword)
        assert (start, start + len(keyword)) in secret_names._keywords(Reading(text))


@pytest.mark.parametrize("text", [b"", b"key", b"ey", b"monkey", b"a key", b"-key", b"keyboard"])
def test_a_key_alone_is_no_keyword(text):
    assert not has_any(text, secret_names.MARKS)
    assert secret_names._keywords(Reading(text)) == []


def test_each_form_of_token_names_its_source():
    assert all(form.source and form.anchors for form in TOKEN_FORMS)


DATA = ("", *words(".json .yaml .yml .toml .ini .txt .csv .xml .conf .cfg .properties"))
CODE = words(".py .ts .js .go .rs .java .rb .php .md .html .c .h .json.py")
COPIES = (
    *words(
        """#.env# .#.env .env~ .env.bak .env.swp .env.swo .env.orig .env.old .env.save .env.~1~
        #id_rsa# id_rsa~ id_ed25519.bak .id_rsa.swp id_rsa.old server.pem~ server.pem.bak .env.bak~
        server.key.orig .npmrc~ .netrc.bak #.pypirc# prod.tfvars~ .credentials.json.swp .env.bak2
        credentials.json~ #passwords.txt# .#passwords.yml terraform.tfstate.bak .pgpass.rpmsave
        .htpasswd.dpkg-old"""
    ),
    *("id_rsa copy", "id_rsa (copy)", ".env (1)", "Copy of id_rsa", "credentials copy 2.json"),
)
PATHS = words(
    """.envs/.local/.django .envs/production .aws/credentials .docker/config.json .kube/config
    .config/gh/hosts.yml .config/gcloud/application_default_credentials.json .m2/settings.xml
    .composer/auth.json .password-store/a/b.gpg .gnupg/secring.gpg"""
)


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        (".env", True),
        ("deep/down/.env.production.local", True),
        (".env.example", False),
        ("kubeconfig", True),
        ("/home/user/.pgpass", True),
        ("password_reset.py", False),
        *((f".env{sign}prod", True) for sign in "-_"),
        *((f".env{sign}example", False) for sign in "-_"),
        *((name, True) for name in ("password.txt", "credentials.csv.gz", "passwords.sql")),
        *((name, True) for name in ("client_secret_1.json",)),
        *((name, False) for name in ("password.py", "passwords.py.gz", "env_prod")),
        ("id_ed25519.pub", False),
        ("tls.key/", True),
        ("docs/keys.md", False),
        (".env.production", True),
        (".env.template", False),
        (".envrc", False),
        ("env", False),
        ("server.pem", True),
        ("server.pem.txt", False),
        ("private.key", True),
        ("keyboard.py", False),
        ("id_ed25519", True),
        (".npmrc", True),
        (".ENV", True),
        ("ID_RSA", True),
        ("server.PEM", True),
        (".Env.Example", False),
        ("production.env", True),
        ("terraform.tfstate", True),
        ("service-account-prod.json", True),
        ("credentials.json", True),
        ("README.md", False),
        # Copies that editors and people make.
        *((name, True) for name in COPIES),
        (".env.example~", False),
        ("#.env.sample#", False),
        (".env.template.bak", False),
        ("main.py~", False),
        ("#notes.txt#", False),
        (".main.py.swp", False),
        ("id_ed25519.pub.bak", False),
        # With endings of data, not of code.
        *((f"{name}{ending}", True) for name in ("passwords", "credentials") for ending in DATA),
        *((f"{name}{ending}", False) for name in ("passwords", "credentials") for ending in CODE),
        ("credentials.json.bak", True),
        ("credentials.py~", False),
        ("prod.tfvars", True),
        ("prod.auto.tfvars.json", True),
        ("main.tf", False),
        ("prod.tfvars.example", False),
    ],
)
def test_files_of_secrets_are_known_by_name(path, secret):
    assert is_secret_name(path) is secret


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        *((f"{at}{path}", True) for path in PATHS for at in ("", "/home/me/", "deep/")),
        *((f"{path}~", True) for path in PATHS),
        *((path.replace(".", "", 1), False) for path in PATHS if "credentials" not in path),
        ("src/config.json", False),
        ("docker/config.json", False),
        (".docker/config.json.md", False),
        ("my.envs/a", False),
        (".envs", False),
        (".kube/config.d/readme", False),
        ("a/.env", True),
        (".AWS/Credentials", True),
    ],
)
def test_files_of_secrets_are_known_by_the_folders_that_lead_to_them(path, secret):
    assert is_secret_path(path) is secret
