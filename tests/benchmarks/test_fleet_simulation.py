"""The simulated fleet: what is full first is what its costs say, and owners get their turns."""

from __future__ import annotations

import pytest

from benchmarks.fleet_model import COSTS, Layout
from benchmarks.fleet_simulation import alone_per_s, grow, measure, waits

AS_MEASURED = {name: figure.value for name, figure in COSTS.items()}
NO_LOOKS = {**AS_MEASURED, "look_s": 1e-6}


def test_eight_workers_do_at_least_0_9_of_eight_times_as_much():
    point = measure(Layout(8), 1.0, AS_MEASURED)
    assert 0.9 <= point.linear <= 1.05
    assert point.full == "workers"


def test_one_worker_is_held_up_by_nothing_else():
    assert measure(Layout(1), 1.0, NO_LOOKS).runs_per_s == pytest.approx(
        alone_per_s(1.0, NO_LOOKS), rel=0.15
    )


@pytest.mark.parametrize(
    ("part", "costs", "most_per_s"),
    [
        ("front", {}, 1 / 0.0129),
        ("scheduler", {"assign_s": 0.02}, 50),
        ("journal", {"sync_s": 0.1, "write_s": 0.005, "call_s": 0.003}, 60),
        ("storage", {"blob_bytes": 10e6, "store_bytes_per_s": 1e8}, 5),
    ],
)
def test_what_is_full_limits_a_fleet_of_many_workers(part, costs, most_per_s):
    point = measure(Layout(100), 0.2, NO_LOOKS | costs)
    assert point.full == part
    assert point.runs_per_s == pytest.approx(most_per_s, rel=0.3)


def test_more_of_what_is_full_makes_it_linear():
    costs = NO_LOOKS | {"assign_s": 0.0035, "call_s": 0.003}
    point = grow(measure(Layout(100), 0.2, costs), costs)
    assert point.linear >= 0.9
    layout = point.layout
    assert (layout.fronts, layout.schedulers, layout.stores) == (2, 2, 1)


def test_who_comes_behind_ten_thousand_waits_only_where_looks_at_projects_are_not_shared():
    assert waits(Layout(8), AS_MEASURED, has_turns=True) <= 5
    assert waits(Layout(8), AS_MEASURED, has_turns=False) > 100  # the control
    own = Layout(8, shares_looks=False)
    assert waits(own, AS_MEASURED, has_turns=True) > 100
