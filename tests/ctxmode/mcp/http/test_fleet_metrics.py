"""The figures of runs on other machines, as `/metrics` shows them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from ctxmode.mcp.http.serving import Metrics
from fleet.order_desk import Figures, Stage
from fleet.turns import Turns

ROOT = Path(__file__).parents[4]


def _fleet(engine: str, **counts: int) -> SimpleNamespace:
    figures = Figures(bytes_sent=10, bytes_back=3)
    figures.done["ci"] += counts.get("done", 0)
    figures.seconds[Stage.ENGINE] += 1.5
    figures.times[Stage.ENGINE] += 2
    turns = Turns(1)
    for number in range(5):
        turns.add(str(number), "ci", 0.0)
    turns.move_on(0.0)
    settings = SimpleNamespace(url=f"{engine}://host:8786")
    return SimpleNamespace(settings=settings, figures=figures, turns=turns)


def test_figures_are_summed_by_owner_and_engine():
    metrics = Metrics()
    fleets = [_fleet("dask", done=2), _fleet("dask", done=3), _fleet("dask+tls", done=7)]
    metrics.show_fleets(lambda: fleets)
    text = metrics.text().decode()
    assert 'ctxmode_fleet_waiting{engine="dask",owner="ci"} 8.0' in text
    assert 'ctxmode_fleet_running{engine="dask+tls",owner="ci"} 1.0' in text
    assert 'ctxmode_fleet_done_total{engine="dask",owner="ci"} 5.0' in text
    assert 'ctxmode_fleet_seconds_count{stage="engine"} 6.0' in text
    assert 'ctxmode_fleet_seconds_sum{stage="engine"} 4.5' in text
    assert 'ctxmode_fleet_bytes_total{direction="sent"} 30.0' in text


def test_without_a_fleet_nothing_of_it_is_shown():
    metrics = Metrics()
    metrics.show_fleets(list)
    assert "ctxmode_fleet" not in metrics.text().decode()


def test_every_figure_is_told():
    metrics = Metrics()
    metrics.show_fleets(lambda: [_fleet("dask", done=1)])
    page = (ROOT / "docs" / "fleet.md").read_text()
    names = {
        line.split()[2]
        for line in metrics.text().decode().splitlines()
        if line.startswith("# TYPE ctxmode_fleet")
    }
    assert names
    assert [one for one in names if f"`{one.removesuffix('_total')}`" not in page] == []
