"""One object over the project's file and the user's: each fact in the file of its scope."""

from __future__ import annotations

import pytest

from memory.errors import BadInputError
from memory.facts.memory import Memory
from memory.facts.model import UnknownBranchError, UnknownFactError
from memory.facts.recalling import RecallRequest
from tests.memory.facts.stores import ADA, Clock, draft, open_facts


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def memory(tmp_path, clock):
    with (
        open_facts(tmp_path / "project", clock) as project,
        open_facts(tmp_path / "user", clock) as user,
    ):
        yield Memory(project, user, ADA)


def test_each_fact_is_in_the_file_of_its_scope_and_the_nearest_is_first(memory):
    memory.remember(draft("mine everywhere", key="port", scope="user"))
    memory.remember(draft("of the project", key="port"))
    memory.remember(draft("of the session", key="port", scope="session"))
    assert [(fact.scope, fact.text) for fact in memory.list()] == [
        ("session", "of the session"),
        ("project", "of the project"),
        ("user", "mine everywhere"),
    ]
    assert [fact.text for fact in memory.list(scopes=("user",))] == ["mine everywhere"]
    assert [fact.text for fact in memory.list(prefix="/sessions/")] == ["of the session"]
    assert memory.find("port").text == "of the project"
    assert memory.recall(RecallRequest("port")).shadowed == 1
    assert {fact.scope for fact, _ in memory.search("port")} == {"session", "project"}


@pytest.mark.parametrize("scope", ["project", "user"])
def test_verbs_find_the_file_in_which_a_fact_is(memory, scope):
    written = memory.remember(draft("It stands", key="a", scope=scope))
    memory.remember(draft("Another", key="b", scope="user" if scope == "project" else "project"))
    assert memory.pin(written.id).is_pinned
    assert not memory.unpin("a").is_pinned
    assert memory.blame(written.id)[-1].text == "It stands"
    assert memory.forget(written.path, why="wrong").id == written.id
    assert [fact.text for fact in memory.list()] == ["Another"]
    assert [change.operation for change in memory.blame("a")] == ["retract", "unpin", "pin", "add"]
    assert memory.erase(written.id).ids == (written.id,)
    assert memory.blame("a")[-1].text == ""
    assert set(sum(memory.check().values(), ())) == set()


def test_x8_blame_names_each_writer_the_newest_first(memory):
    memory.remember(draft("On Fridays", key="d", confidence="low", why="heard"))
    memory.remember(draft("On Tuesdays", key="d", category="correct", why="asked"))
    rows = [(c.agent, c.session, c.category, c.why, c.text) for c in memory.blame("d")]
    assert rows == [
        ("claude_code", "s1", "correct", "asked", "On Tuesdays"),
        ("claude_code", "s1", "observe", "heard", "On Fridays"),
    ]
    assert memory.log(limit=1)[0].text == "On Tuesdays"


def test_two_files_are_never_one_transaction(memory):
    written = memory.remember(draft("mine", key="a", scope="user"))
    with pytest.raises(BadInputError, match="a fact of the user"):
        memory.remember(draft("of all", key="b", supersedes=written.id))
    with pytest.raises(UnknownFactError):
        memory.remember(draft("of all", key="b", supersedes="mem-aaaaaaaa"))
    assert [fact.text for fact in memory.list()] == ["mine"]


def test_a_projects_branch_is_none_of_the_users(memory):
    with memory.project.database.writing() as db:
        db.execute("INSERT INTO branch VALUES ('try', 'main', 0, 'open', 0, 'user')")
    memory.remember(draft("tried", key="a"), branch="try")
    memory.remember(draft("mine", key="b", scope="user"), branch="try")
    assert [fact.text for fact in memory.list(branch="try")] == ["tried", "mine"]
    assert [fact.text for fact in memory.list()] == ["mine"]
    assert memory.forget("b", branch="try").text == "mine"
    with pytest.raises(UnknownBranchError):
        memory.list(branch="none")


@pytest.mark.parametrize("wanted", ["mem-aaaaaaaa", "none", "/memory/general/none"])
def test_what_was_never_written_is_told_so(memory, wanted):
    for verb in (memory.find, memory.blame, memory.forget, memory.erase, memory.pin):
        with pytest.raises(UnknownFactError):
            verb(wanted)


def test_without_a_users_file_there_is_no_such_scope(memory):
    alone = Memory(memory.project)
    with pytest.raises(BadInputError, match="no file of the user"):
        alone.remember(draft("mine", scope="user"))
    assert alone.author.agent == "user"


def test_expired_facts_are_listed_apart_and_purged_from_both_files(memory, clock):
    memory.remember(draft("short", ttl_s=5))
    memory.remember(draft("mine", ttl_s=5, scope="user"))
    clock.now += 5
    assert memory.list() == []
    assert [fact.text for fact in memory.list(is_expired=True)] == ["short", "mine"]
    assert [fact.text for fact in memory.purge()] == ["short", "mine"]
    assert memory.list(is_expired=True) == []


def test_priming_writes_the_project(memory):
    primed = memory.prime("# A\nx", source="README.md", title="README.md", is_pinned=True)
    assert primed.added == ("/memory/pinned/README.md/a",)
    assert memory.list()[0].scope == "project"


def test_x11_what_is_written_after_a_mark_is_listed_of_each_file_the_oldest_first(memory, clock):
    for number in range(3):
        memory.remember(draft(f"{number} of before", key=f"k{number}"))
    _, marks = memory.log_after({})
    assert memory.log_after(marks) == ([], marks)
    memory.remember(draft("of the user", scope="user"))  # whose file counts for itself
    clock.now += 1
    memory.remember(draft("one", key="a", supersedes="k0"))
    changes, marks = memory.log_after(marks)
    assert [(one.operation, one.text) for one in changes] == [
        ("add", "of the user"),
        ("retract", ""),
        ("add", "one"),
    ]
    assert memory.log_after(marks)[0] == []
    memory.remember(draft("more", scope="user"))
    assert memory.log_after(marks, branch="main")[0] == []
    beyond = dict.fromkeys(marks, 99)  # as after a restore
    assert list(memory.log_after(beyond)[1].values()) == [5, 2]
