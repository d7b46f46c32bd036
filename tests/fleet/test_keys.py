"""Files of keys are used only where nobody else could have read or written them."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fleet.seal import (
    FILE_BYTES_MAX,
    KeyFileError,
    load_key,
    load_served_keys,
    make_key,
    write_public,
)

PUBLIC = write_public(Ed25519PrivateKey.from_private_bytes(bytes(32)))
LIST = f'[fronts.office]\nkey = "{PUBLIC}"\nowners = ["alice", "ci"]\n'


def pem(key, password: bytes = b"") -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption(),
    )


def test_a_key_that_was_made_is_loaded_and_belongs_to_its_public_one(tmp_path):
    file = tmp_path / "front.key"
    public = make_key(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert write_public(load_key(file)) == public


def test_no_key_is_made_over_another(tmp_path):
    file = tmp_path / "front.key"
    make_key(file)
    before = file.read_bytes()
    with pytest.raises(KeyFileError, match="File exists"):
        make_key(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o666])
def test_a_key_that_others_may_read_or_write_is_refused(tmp_path, mode):
    file = tmp_path / "front.key"
    make_key(file)
    file.chmod(mode)
    with pytest.raises(KeyFileError, match="others may read or write") as caught:
        load_key(file)
    assert caught.value.hint == f"chmod 600 {file}"


def test_a_link_to_a_key_has_the_rights_of_the_key(tmp_path):
    file, link = tmp_path / "front.key", tmp_path / "link"
    public = make_key(file)
    link.symlink_to(file)
    assert write_public(load_key(link)) == public
    file.chmod(0o644)
    with pytest.raises(KeyFileError, match="0644"):
        load_key(link)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no PEM key"),
        (b"-----BEGIN PRIVATE KEY-----\n", "no PEM key"),
        (pem(Ed25519PrivateKey.generate(), b"secret"), "no PEM key"),
        (pem(generate_private_key(SECP256R1())), "not an Ed25519"),
        (bytes(FILE_BYTES_MAX + 1), "larger"),
    ],
)
def test_a_file_without_a_key_of_a_front_is_told(tmp_path, content, message):
    file = tmp_path / "front.key"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(KeyFileError, match=message):
        load_key(file)


def test_what_is_no_file_is_told_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("pipe", "missing", "."):
        with pytest.raises(KeyFileError):
            load_key(tmp_path / name)


def test_the_list_of_a_worker_names_keys_and_their_owners(tmp_path):
    file = tmp_path / "fronts.toml"
    file.write_text(LIST)
    file.chmod(0o644)
    ((name, (public, owners)),) = load_served_keys(file).items()
    assert (name, owners) == ("office", {"alice", "ci"})
    assert len(public) == 32


def test_a_list_that_others_may_write_is_refused(tmp_path):
    file = tmp_path / "fronts.toml"
    file.write_text(LIST)
    file.chmod(0o664)
    with pytest.raises(KeyFileError, match="others may write") as caught:
        load_served_keys(file)
    assert caught.value.hint == f"chmod go-w {file}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "entries other than"),
        ("fronts = 3", "entries other than"),
        ("[fronts]", "entries other than"),
        (LIST + "[workers]\n", "entries other than"),
        ("[fronts.a]\nowners = []\n", "key and owners"),
        (LIST + "extra = 1\n", "key and owners"),
        ("[fronts]\na = 1\n", "key and owners"),
        (LIST.replace('["alice", "ci"]', '"alice"'), "list of names"),
        (LIST.replace('"ci"', "7"), "list of names"),
        (LIST.replace(PUBLIC, PUBLIC[:-4]), "32 bytes"),
        (LIST.replace(PUBLIC, "ü" + PUBLIC), "32 bytes"),
        (LIST.replace(f'"{PUBLIC}"', "32"), "32 bytes"),
        (LIST + LIST.replace("office", "home"), "two fronts have the same key"),
        ("fronts = [", "invalid TOML"),
        ("fronts = " + "[" * 100_000, "invalid TOML"),
    ],
)
def test_a_list_of_another_form_is_told(tmp_path, text, message):
    file = tmp_path / "fronts.toml"
    file.write_text(text)
    with pytest.raises(KeyFileError, match=message):
        load_served_keys(file)
