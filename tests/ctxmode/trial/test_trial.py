"""The trial's questions, programs and searches."""

import subprocess
from pathlib import Path

import pytest

import runtimes
from ctxmode.errors import ContextModeError
from ctxmode.trial import corpus
from ctxmode.trial.corpus import QUESTIONS, load_programs
from ctxmode.trial.steps import build_listing, find_rare_words

TEXT = b"""\
def one(a, b):
    return 1234 + 5
one
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("definitions", 1),
        ("commonest", 2),
        ("distinct", 5),
        ("words", 6),
        ("longest", 19),
        ("wide", 0),
        ("numbers", 239),
        ("lines", 3),
        ("digits", 5),
    ],
)
def test_each_question_has_the_answer_that_was_counted_by_hand(question, answer):
    assert QUESTIONS[question][1](TEXT) == answer


@pytest.mark.parametrize(("text", "digest"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C)])
def test_the_hash_is_the_published_one(text, digest):
    assert QUESTIONS["hash"][1](text) == digest


def test_every_language_of_the_table_has_a_program_and_every_question_is_asked():
    assert {language for language, _, _ in load_programs()} == {
        row.name for row in runtimes.LANGUAGES
    }
    assert {question for _, question, _ in load_programs()} == set(QUESTIONS)
    assert all(code.strip() for _, _, code in load_programs())


def test_the_input_is_real_and_at_least_a_megabyte(tmp_path):
    content, parts = corpus.gather(tmp_path)
    assert len(content) >= corpus.BYTES_MIN
    assert sum(parts.values()) == len(content)
    assert content.endswith(b"\n")
    assert b"\0" not in content


def test_a_checkout_brings_its_own_history_and_sources():
    project = Path(__file__).parents[3]
    if not (project / ".git").exists():
        pytest.skip("the tests do not run in a checkout")
    names = [*corpus.gather(project)[1]]
    assert names[:2] == ["git history", "project sources"]


def test_no_program_that_a_repository_names_is_run(tmp_path):
    source, project, proof = tmp_path / "source", tmp_path / "project", tmp_path / "proof"
    by_me = ("-c", "user.name=t", "-c", "user.email=t@example.com")

    def git(folder, *arguments):
        subprocess.run(["git", *by_me, *arguments], cwd=folder, check=True, capture_output=True)

    source.mkdir()
    git(source, "init", "-q")
    git(source, "config", "uploadpack.allowFilter", "true")
    for text in ("one", "two"):
        (source / "file.py").write_text(text)
        git(source, "add", "file.py")
        git(source, "commit", "-qm", text)
    partial = ("--filter=blob:none", "--no-checkout", f"file://{source}", str(project))
    git(tmp_path, "clone", "-q", *partial)
    git(project, "config", "remote.origin.uploadpack", f"touch {proof}; git-upload-pack")
    git(project, "config", "core.fsmonitor", f"touch {proof}; false")
    corpus.gather(project)
    assert not proof.exists()
    subprocess.run(["git", "log", "-p"], cwd=project, check=False, capture_output=True)
    assert proof.exists()


def test_too_little_input_is_an_error_that_says_what_helps(monkeypatch, tmp_path):
    monkeypatch.setattr(corpus, "SOURCES", {"nothing": lambda project: iter([b"x"])})
    with pytest.raises(ContextModeError) as caught:
        corpus.gather(tmp_path)
    assert caught.value.hint


def test_the_listing_is_the_lines_that_define_with_their_numbers():
    assert build_listing(b"x\n def a\ny\ndef b\n") == b"2: def a\n4:def b\n"


def test_words_to_search_for_occur_once_in_any_form():
    printed = b"".join(b"%d:def common(exceptions, Exception):\n" % n for n in range(50))
    assert find_rare_words(printed) == []
    printed = printed.replace(b"20:def common", b"20:def zebracrossing")
    assert [word for word, _ in find_rare_words(printed)] == ["zebracrossing"]
