"""The same sources answer alike, whatever else is kept beside them."""

from __future__ import annotations

import random

import pytest

from kb import Hit, Store
from kb.model import SourceSpec

WORDS = [f"{a}{b}" for a in ("net", "sys", "par", "con", "lex") for b in ("work", "tem", "ser")]
RARE = ("walrus", "quince", "ocelot", "getUserName")
QUERIES = (
    "walrus network",
    "system parser network",
    "quince ocelot lexser",
    "conwork",
    "quinec network",
    "user name parser",
    "王国 network",
    "Łódź parwork",
    "network system parser context lexer walrus conser partem lexwork syswork nettem",
)
FILTERS = (
    {"source": "mine/"},
    {"path": "/p/mine/"},
    {"session": "agent:1"},
    {"language": "python"},
    {"kind": "code"},
)


def text_of(chance: random.Random, n: int) -> bytes:
    lines = []
    for line in range(12):
        words = [chance.choice(WORDS) for _ in range(9)]
        words += [word for word in (*RARE, "王国", "Łódź") if chance.random() < 0.06]
        chance.shuffle(words)
        lines.append(f"def lines_{n}_{line}():\n    return {words!r}\n\n")
    return "".join(lines).encode()


def fill(store: Store, *, beside: bool) -> None:
    others = random.Random(7)
    mine = random.Random(5)
    for n in range(18):
        if beside:
            for other in range(8):
                label = f"others/{n}-{other}.py.txt"
                # Of these some words are common that are rare in the other sources.
                data = text_of(others, n) + b"walrus quinec conwork " * 30
                store.add(SourceSpec(label, kind="text", path=f"/p/{label}"), data)
        label = f"mine/{n}.py"
        spec = SourceSpec(label, name=label, path=f"/p/{label}", session="agent:1", origin="file")
        store.add(spec, text_of(mine, n))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("selection")
    with Store.open(folder / "alone.db") as alone, Store.open(folder / "beside.db") as beside:
        fill(alone, beside=False)
        fill(beside, beside=True)
        yield alone, beside


def answers(store: Store, query: str, filters: dict[str, str]) -> list[tuple[object, ...]]:
    (result,) = store.search(query, limit=10, **filters)
    return [(*key(hit), round(hit.score, 6)) for hit in result.hits]


def key(hit: Hit) -> tuple[object, ...]:
    return hit.source, hit.start_byte, hit.end_byte, hit.corrections


@pytest.mark.parametrize("filters", FILTERS, ids=lambda filters: next(iter(filters)))
@pytest.mark.parametrize("query", QUERIES)
def test_filtered_answers_are_those_of_a_store_with_nothing_else(
    stores: tuple[Store, Store], query: str, filters: dict[str, str]
) -> None:
    alone, beside = stores
    wanted = answers(alone, query, filters)
    assert wanted
    assert answers(beside, query, filters) == wanted
    assert answers(alone, query, {}) == wanted


def test_without_a_filter_the_others_are_found_as_well(stores: tuple[Store, Store]) -> None:
    _, beside = stores
    assert any(source.startswith("others/") for source, *_ in answers(beside, "walrus", {}))
