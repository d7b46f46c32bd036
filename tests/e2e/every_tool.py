"""One call of every tool, for whichever client makes them, and what must come of it."""

CALLS = {
    "ctx_execute": {"language": "shell", "code": "echo hello"},
    "ctx_execute_file": {
        "path": "app.log", "language": "python", "code": "print(len(FILE_CONTENT))"
    },
    "ctx_background": {},
    "ctx_batch_execute": {"commands": ["echo the needle"], "queries": ["needle"]},
    "ctx_index": {"path": "docs"},
    # Of this machine, which may not be fetched from: an answer all the same.
    "ctx_fetch_and_index": {"url": "http://127.0.0.1:1/"},
    "ctx_search": {"queries": ["retry"]},
    "ctx_pack": {"task": "retry"},
    "ctx_session": {"about": "queue"},
    "ctx_memory": {"action": "list"},
    "ctx_stats": {},
    "ctx_purge": {"confirm": True, "source": "nothing is called so"},
    "ctx_doctor": {},
}  # fmt: skip


def judge(names, answers):
    """The tools' names as they were listed, and the answers by tool."""
    assert sorted(names) == sorted(answers) == sorted(CALLS)
    failed = {name for name, answer in answers.items() if answer.get("isError")}
    assert failed == {"ctx_fetch_and_index"}
    assert answers["ctx_execute"]["structuredContent"]["stdout"] == "hello\n"
    assert "the needle" in answers["ctx_batch_execute"]["content"][0]["text"]
    assert "guide.md" in answers["ctx_pack"]["content"][0]["text"]
    assert "A retry waits" in answers["ctx_search"]["content"][0]["text"]
