"""Waiting for news: until a folder changes, or the time has passed."""

from __future__ import annotations

import threading

import pytest

from ctxmode.operations import session_watch
from ctxmode.operations.session_watch import News

LONG_S = 60.0


def write_until(news_came: threading.Event, path):
    """Append to a file, again until it was noticed: the watch may begin later."""
    while not news_came.wait(0.05):
        with path.open("a") as file:
            file.write("{}\n")


def test_a_new_line_ends_the_wait(tmp_path):
    path = tmp_path / "a" / "b.jsonl"
    path.parent.mkdir()
    came = threading.Event()
    writer = threading.Thread(target=write_until, args=(came, path))
    writer.start()
    try:
        assert News().wait([str(tmp_path)], LONG_S)
    finally:
        came.set()
        writer.join()


def test_a_wait_is_ended_from_another_thread(tmp_path):
    for roots in ([], [str(tmp_path)]):
        news = News()
        threading.Timer(0.1, news.stop).start()
        assert not news.wait(roots, LONG_S)


@pytest.mark.parametrize("roots", [[], ["/no/such/folder"]])
def test_without_a_folder_the_time_passes(roots):
    assert not News().wait(roots, 0.01)


def test_where_watching_fails_the_time_passes(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("no more watches")
        yield

    monkeypatch.setattr(News, "_watch", lambda self, roots, poll_s: fail())
    news = News()
    assert not news.wait([str(tmp_path)], 0.01)
    assert not news.wait([str(tmp_path)], 0.01)


def test_a_quiet_folder_lets_the_time_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(session_watch, "STEP_MS", 10)
    assert not News().wait([str(tmp_path)], 0.02)
