"""The verb `stats --tokens`, and the verbs over all sessions: what people and scripts are shown."""

import pytest

from tests.ctxmode.projects import MODEL, answer, call, compaction, prompt

ONE = "aaaa0000-0000-4000-8000-000000000001"
TWO = "bbbb0000-0000-4000-8000-000000000002"


@pytest.fixture
def two(user):
    """A session here, and one in another project."""
    user.track("here", ONE, prompt("a"), answer("b", input_tokens=1000, output_tokens=20),
        call("Bash", 1, {"command": "make"}), compaction("Half is done.", 900))  # fmt: skip
    user.track("there", TWO, prompt("a"), answer("b", output_tokens=5, cache_read_input_tokens=90))
    return user


def test_r15_tokens_are_by_model_and_what_is_unknown_is_said(two):
    data = two.ask("here", "kept", "stats", "--tokens", "--json")
    assert data["by"] == "model"
    (row,) = data["rows"]
    assert row == {"model": MODEL} | data["total"]
    assert data["total"] == {
        "responses": 1, "input_tokens": 1000, "output_tokens": 20, "cache_read_tokens": None,
        "cache_write_tokens": None, "reasoning_tokens": None,
    }  # fmt: skip
    assert data["cache_read_share"] is None
    assert data["sessions"]["by_agent"] == {"claude_code": 1}
    shown = two.ask("here", "kept", "stats", "--tokens")
    assert "not recorded" in shown
    assert "1,000" in shown
    assert "cost" not in shown
    assert "sessions by status: active 1" in shown


@pytest.mark.parametrize(
    ("by", "keys"),
    [("agent", {"claude_code"}), ("session", {f"claude_code:{ONE}", f"claude_code:{TWO}"})],
)
def test_r15_tokens_of_all_projects(two, by, keys):
    data = two.ask("here", "kept", "stats", "--tokens", "--by", by, "--everywhere", "--json")
    assert {row[by] for row in data["rows"]} == keys
    assert data["total"]["output_tokens"] == 25
    assert data["cache_read_share"] == 1.0
    assert data["sessions"]["by_status"]["active"] == 2


def test_money_is_shown_only_where_the_user_has_prices(two):
    two.write_settings('[transcripts.prices]\n"claude" = { input = 3, output = 15 }\n')
    data = two.ask("here", "kept", "stats", "--tokens", "--json")
    assert data["total"]["cost"] == pytest.approx((1000 * 3 + 20 * 15) / 1_000_000)
    assert data["no_price"] == []
    shown = two.ask("here", "kept", "stats", "--tokens", "--everywhere")
    assert f"no price, left out of the cost: {MODEL} (cache_read)" in shown
    data = two.ask("here", "kept", "stats", "--tokens", "--by", "session", "--everywhere", "--json")
    costs = {row["session"]: row["cost"] for row in data["rows"]}
    assert costs[f"claude_code:{TWO}"] is None
    assert data["total"]["cost"] == costs[f"claude_code:{ONE}"]
    assert data["no_price"] == [{"model": MODEL, "kinds": ["cache_read"]}]


def test_a_projects_file_sets_no_price(two):
    path = two.project("here") / ".ctxmode" / "config.toml"
    path.parent.mkdir()
    path.write_text(f'[transcripts.prices]\n"{MODEL}" = {{ input = 3, output = 15 }}\n')
    data = two.ask("here", "kept", "stats", "--tokens", "--json")
    assert "cost" not in data["total"]
    assert "a project cannot set prices" in two.said


def test_r15_tools_over_all_sessions(two):
    (bash,) = two.ask("here", "sessions", "tools", "--json")["tools"]
    assert bash == {"tool": "Bash", "calls": 1, "errors": 0, "average_output_tokens": None}
    assert "not recorded" in two.ask("here", "sessions", "tools")
    assert two.ask("there", "sessions", "tools", "--json") == {"tools": []}
    assert len(two.ask("there", "sessions", "tools", "--everywhere", "--json")["tools"]) == 1
    assert two.ask("here", "sessions", "tools", "--agent", "codex", "--json") == {"tools": []}


def test_r15_compactions_over_all_sessions(two):
    (point,) = two.ask("here", "sessions", "compactions", "--json")["compactions"]
    assert (point["session_id"], point["summary"]) == (f"claude_code:{ONE}", "Half is done.")
    assert (point["tokens_before"], point["trigger"]) == (900, "auto")
    assert "900" in two.ask("here", "sessions", "compactions")
    assert two.ask("there", "sessions", "compactions", "--json") == {"compactions": []}
    assert "No compactions" in two.ask("there", "sessions", "compactions")
    assert two.ask("there", "sessions", "compactions", "--everywhere", "--json")["compactions"]


def test_nothing_yet_is_a_friendly_line(user):
    assert "sessions track" in user.ask("here", "kept", "stats", "--tokens")
    data = user.ask("here", "kept", "stats", "--tokens", "--json")
    assert (data["rows"], data["total"]["responses"]) == ([], 0)
    assert data["total"]["output_tokens"] is None
    assert "No tool" in user.ask("here", "sessions", "tools")


def test_by_is_refused_without_tokens_and_with_what_is_unknown(user):
    assert "--tokens" in user.ask("here", "kept", "stats", "--by", "day", code=2)
    user.ask("here", "kept", "stats", "--tokens", "--by", "moon", code=2)


def test_counts_that_no_response_has_are_not_recorded_and_spoil_no_others(user):
    huge = [answer("b", input_tokens=(1 << 53) - 1, output_tokens=3) for _ in range(1100)]
    user.track("here", ONE, prompt("a"), *huge)
    total = user.ask("here", "kept", "stats", "--tokens", "--json")["total"]
    assert (total["responses"], total["input_tokens"], total["output_tokens"]) == (1100, None, 3300)
