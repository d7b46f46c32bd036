"""Bearer tokens: where they come from, and what is no token."""

import os

import pytest

from ctxmode.errors import UsageError
from ctxmode.mcp.http.gate import find_holder, load_tokens

LONG = "a-token-of-enough-letters"
OTHER = "another-token-of-enough-letters"


@pytest.fixture
def file(tmp_path):
    def write(text, mode=0o600):
        path = tmp_path / "tokens"
        path.write_text(text)
        path.chmod(mode)
        return path

    return write


def test_a_token_is_made_once_and_kept_for_its_owner_alone(tmp_path):
    place = tmp_path / "http-token"
    (first,) = load_tokens(None, {}, place)[0]
    (second,) = load_tokens(None, {}, place)[0]
    assert first == second
    assert len(first) >= 40
    assert place.stat().st_mode & 0o777 == 0o600


def test_the_environment_goes_before_the_kept_token(tmp_path):
    tokens, source = load_tokens(None, {"CONTEXT_MODE_TOKEN": LONG}, tmp_path / "none")
    assert tokens == {LONG: "default"}
    assert source == "CONTEXT_MODE_TOKEN"
    assert not (tmp_path / "none").exists()


def test_a_file_names_who_comes_in(file, tmp_path):
    tokens, _ = load_tokens(file(f"# ours\nada {LONG}\n\nbob {OTHER}\n"), os.environ, tmp_path)
    assert find_holder(tokens, LONG) == "ada"
    assert find_holder(tokens, OTHER) == "bob"
    assert find_holder(tokens, LONG[:-1]) is None
    assert find_holder(tokens, "") is None


@pytest.mark.parametrize(
    ("text", "mode", "problem"),
    [
        ("short\n", 0o600, ":1: a token needs at least"),
        (f"{LONG}\nada bob {OTHER}\n", 0o600, ":2: not a token"),
        (f"a/b {LONG}\n", 0o600, ":1: not a token"),
        ("", 0o600, "has no token"),
        ("# nothing\n", 0o600, "has no token"),
        (f"{LONG}\n", 0o644, "other users can read"),
    ],
)
def test_what_is_no_file_of_tokens_is_told_with_its_line(file, tmp_path, text, mode, problem):
    with pytest.raises(UsageError, match=problem):
        load_tokens(file(text, mode), {}, tmp_path)


def test_a_missing_file_is_an_error_and_not_an_open_door(tmp_path):
    with pytest.raises(UsageError):
        load_tokens(tmp_path / "none", {}, tmp_path / "default")
