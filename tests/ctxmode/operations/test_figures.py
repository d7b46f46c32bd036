"""Figures: one formula, parts that make the whole, and what is not recorded said so."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode.config.transcripts import PRICED
from ctxmode.errors import ContextModeError
from ctxmode.operations import figures
from ctxmode.operations.figures import KINDS, TokenFigures, sum_rows, sum_tokens
from ctxmode.operations.usage import Counts, record
from memory.sessions.model import TOKENS_BY, TokenCount
from tests.ctxmode.projects import answer, call, compaction, prompt

ONE = "aaaa0000-0000-4000-8000-000000000001"
TWO = "bbbb0000-0000-4000-8000-000000000002"
DAY = 86_400
NO_PRICES = {}

numbers = st.integers(0, 1 << 50)
usage_rows = st.lists(
    st.tuples(
        st.integers(0, 40).map(lambda day: day * DAY), st.sampled_from("abc"),
        st.builds(Counts, numbers, numbers, numbers, numbers),
    ),
    max_size=20,
)  # fmt: skip
known = st.one_of(st.none(), st.integers(0, 1 << 50))
token_counts = st.lists(
    st.builds(
        TokenCount, st.sampled_from(("s1", "s2")), st.sampled_from(("codex", "cursor")),
        st.sampled_from(("", "gpt-5", "gpt-5-mini", "opus")),
        st.sampled_from(("", "2026-01-01", "2026-01-02")),
        st.integers(1, 1000), known, known, known, known, known,
    ),
    max_size=20,
)  # fmt: skip
amounts = st.decimals(0, 1000, places=3)
prices = st.dictionaries(
    st.sampled_from(("gpt", "gpt-5-m", "o")),
    st.fixed_dictionaries({"input": amounts, "output": amounts}, optional={"cache_read": amounts}),
)


@given(st.dictionaries(st.sampled_from(("here", "there")), usage_rows))
def test_r6_parts_of_tools_make_the_whole(rows):
    data = sum_rows(rows).to_json()
    for parts in ("tools", "days", "projects"):
        for name in ("calls", "errors", "produced", "returned", "kept"):
            assert data["total"][name] == sum(one[name] for one in data.get(parts, {}).values())
    for one in (data["total"], *data["tools"].values(), *data["days"].values()):
        assert one["kept"] == one["produced"] - one["returned"]
        expected = max(one["kept"], 0) / one["produced"] if one["produced"] else None
        assert one["reduction"] == expected
        assert expected is None or 0 <= expected <= 1


@given(token_counts, st.sampled_from(TOKENS_BY), prices)
def test_r6_parts_of_tokens_make_the_whole(counts, by, priced):
    rows = sum_tokens(counts, by, priced)
    total = TokenFigures(by, rows, None, {}, {}).total
    assert len({row.key for row in rows}) == len(rows)
    assert total.responses == sum(row.responses for row in rows) == sum(c.responses for c in counts)
    for kind in KINDS:
        for of in (rows, counts):
            parts = [part for one in of if (part := getattr(one, kind)) is not None]
            assert getattr(total, kind) == (sum(parts) if parts else None)
    costs = [row.cost for row in rows if row.cost is not None]
    assert total.cost == (sum(costs) if costs else None)
    # However the tokens are divided, they cost the same.
    (other,) = {TokenFigures(key, sum_tokens(counts, key, priced), None, {}, {}).total.cost
                for key in TOKENS_BY}  # fmt: skip
    assert other == total.cost


def test_nothing_produced_has_no_reduction_and_none_is_below_zero():
    assert Counts(1, 0, 0, 80).kept == -80
    assert Counts(1, 0, 0, 80).reduction is None
    assert Counts(1, 0, 100, 25).reduction == 0.75
    assert Counts(1, 0, 100, 300).reduction == 0


def count(model="m", day="2026-01-01", **kinds):
    given = dict.fromkeys(KINDS) | kinds
    return TokenCount("codex:1", "codex", model, day, 1, **given)


def test_what_no_host_records_is_none_and_never_0():
    (row,) = sum_tokens([count(input=5, cache_read=0), count(input=7)], "model", NO_PRICES)
    assert (row.input, row.output, row.cache_read, row.reasoning) == (12, None, 0, None)
    assert row.to_json() == {
        "responses": 2,
        "input_tokens": 12,
        "output_tokens": None,
        "cache_read_tokens": 0,
        "cache_write_tokens": None,
        "reasoning_tokens": None,
    }


def test_days_stand_in_order_and_the_unknown_one_last():
    counts = [count(day=day, input=1) for day in ("", "2026-01-02", "2025-12-31")]
    rows = sum_tokens(counts, "day", NO_PRICES)
    assert [row.key for row in rows] == ["2025-12-31", "2026-01-02", ""]


@pytest.mark.parametrize(
    ("counts", "share"),
    [
        ([], None),
        ([count(input=10)], None),
        ([count(input=10, cache_read=0)], 0.0),
        ([count(input=1, cache_read=3)], 0.75),
        ([count(input=1, cache_read=6, cache_write=1)], 0.75),
        ([count(input=1, cache_read=3), count(input=1000)], 0.75),
        ([count(input=0, cache_read=0)], None),
    ],
)
def test_the_share_of_the_cache_is_of_hosts_that_record_it(counts, share):
    assert figures.compute_cache_share(counts) == share


PRICED = {
    "opus": dict(zip(PRICED, map(Decimal, ("15", "75", "1.5", "18.75")), strict=True)),
    "opus-mini": {"input": Decimal(1), "output": Decimal(2)},
}


@pytest.mark.parametrize(
    ("counted", "cost", "unpriced"),
    [
        (count("opus-4", input=1_000_000, output=2_000_000), Decimal(165), set()),
        (count("opus-4", input=0, cache_read=1_000_000, cache_write=4), Decimal("1.500075"), set()),
        (count("opus-mini-2", input=3_000_000), Decimal(3), set()),
        (count("opus-mini-2", cache_read=1), None, {("opus-mini-2", "cache_read")}),
        (count("opus-mini-2", input=1, cache_read=0), Decimal("0.000001"), set()),
        (count("sonnet", output=1), None, {("sonnet", "output")}),
        (count("OPUS", input=1), None, {("OPUS", "input")}),
        (count("", input=1), None, {("", "input")}),
        (count("opus-4"), None, set()),
        (count("opus-4", input=0), Decimal(0), set()),
        (count("opus-4", output=1_000_000, reasoning=900_000), Decimal(75), set()),
    ],
)
def test_the_price_is_that_of_the_longest_name_and_none_is_guessed(counted, cost, unpriced):
    (row,) = sum_tokens([counted], "model", PRICED)
    assert row.cost == cost
    assert row.no_price == unpriced


def test_r15_tokens_of_the_project_or_of_all(user):
    user.track("here", ONE, prompt("a"), answer("b", input_tokens=10, output_tokens=20))
    user.track("there", TWO, prompt("a"), answer("b", output_tokens=5, cache_read_input_tokens=90))
    config = user.config("here")
    here = figures.read_token_figures(config, NO_PRICES)
    assert (here.total.input, here.total.output, here.total.cache_read) == (10, 20, None)
    everywhere = figures.read_token_figures(config, NO_PRICES, by="session", everywhere=True)
    assert {row.key for row in everywhere.rows} == {f"claude_code:{ONE}", f"claude_code:{TWO}"}
    assert (everywhere.total.input, everywhere.total.output) == (10, 25)
    assert everywhere.agents == {"claude_code": 2}
    assert everywhere.statuses == {"active": 2, "paused": 0, "completed": 0, "archived": 0}


def test_r15_tool_use_and_compactions_over_all_sessions(user):
    user.track(
        "here", ONE, prompt("a"), call("Bash", 1, {"command": "make"}, output_tokens=10),
        call("Bash", 2, {"command": "make"}, failed=True, output_tokens=20), compaction("First."),
    )  # fmt: skip
    user.track("there", TWO, prompt("a"), call("Bash", 3, {"command": "ls"}, output_tokens=60),
               call("Read", 4, {"file_path": "/x"}), compaction("Second."))  # fmt: skip
    config = user.config("here")
    (bash,), left_out = figures.read_tool_uses(config)
    assert bash == {"tool": "Bash", "calls": 2, "errors": 1, "average_output_tokens": 15}
    assert left_out == ()
    bash, read = figures.read_tool_uses(config, everywhere=True)[0]
    assert (bash["calls"], bash["average_output_tokens"]) == (3, 30)
    assert read == {"tool": "Read", "calls": 1, "errors": 0, "average_output_tokens": None}
    assert figures.read_tool_uses(config, agent="codex", everywhere=True)[0] == []
    points = figures.read_compactions(config, everywhere=True)[0]
    assert [point["summary"] for point in points] == ["Second.", "First."]
    assert [point["tokens_before"] for point in points] == [1000, 1000]
    assert len(figures.read_compactions(config)[0]) == 1
    assert figures.read_compactions(config, agent="codex")[0] == []


def test_calls_of_all_projects_name_each_and_what_is_left_out(user):
    folder = user.config("here").usage_file.parent
    folder.mkdir(parents=True)
    record(user.config("here").usage_file, ("ctx_execute", Counts(1, 0, 100, 10)))
    record(user.config("there").usage_file, ("ctx_execute", Counts(1, 1, 50, 60)))
    (folder / "damaged-000000000000.usage.sqlite3").write_bytes(b"no database " * 100)
    found = figures.read_tool_figures(user.config("here"), everywhere=True)
    assert found.total == Counts(2, 1, 150, 70)
    assert found.projects == {"here": Counts(1, 0, 100, 10), "there": Counts(1, 1, 50, 60)}
    (left_out,) = found.left_out
    assert "damaged" in left_out
    assert figures.read_tool_figures(user.config("here")).total == Counts(1, 0, 100, 10)


def test_a_damaged_file_of_counts_is_told_with_what_to_do(user):
    file = user.config("here").usage_file
    file.parent.mkdir(parents=True)
    file.write_bytes(b"not a database " * 100)
    with pytest.raises(ContextModeError, match="usage") as raised:
        figures.read_tool_figures(user.config("here"))
    assert "Remove that file" in raised.value.hint
