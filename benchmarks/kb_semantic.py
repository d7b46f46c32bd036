"""Whether embeddings of words would order what search finds better than it does.

    pip install wordllama
    python -m benchmarks.kb_semantic [--corpora FOLDER] [--set NAME]

A chunk's vector is the mean of its words' vectors, each by its rarity in the set, in eight bits a
number; names are split into their parts first. Its cosine with the query's vector is added, at each
weight, to the score of the first 100 chunks as a share of the best. Prints per set the mean
reciprocal rank by file at each weight, and what the vectors cost. docs/design/decisions.md has the
figures, and what follows from them.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.kb_code import PACKAGES as CODE_PACKAGES
from benchmarks.kb_code import code_sets
from benchmarks.kb_corpora import PACKAGES, QuerySet, fetch, query_sets
from benchmarks.kb_held_out import PACKAGES as HELD_OUT_PACKAGES
from benchmarks.kb_held_out import held_out_sets
from kb import Hit, Store
from kb.model import SourceSpec
from kb.words import with_name_parts

WEIGHTS = (0.0, 0.2, 0.4, 0.8)
CANDIDATES = 100
SHOWN = 10

Embed = Callable[[Sequence[str]], Any]


def embedder(texts: Sequence[str]) -> Embed:
    """What embeds texts, words weighed by their rarity in `texts`."""
    numpy = importlib.import_module("numpy")
    folder = Path(str(importlib.import_module("wordllama").__file__)).parent
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(
        str(folder / "tokenizers/l2_supercat_tokenizer_config.json")
    )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    weights = folder / "weights/l2_supercat_256.safetensors"
    with importlib.import_module("safetensors").safe_open(str(weights), "np") as tensors:
        vectors = tensors.get_tensor(next(iter(tensors.keys()))).astype(numpy.float32)

    def encode(some: Sequence[str]) -> list[list[int]]:
        lowered = [with_name_parts(text).lower() for text in some]
        return [one.ids for one in tokenizer.encode_batch(lowered, add_special_tokens=False)]

    counts = numpy.zeros(len(vectors))
    for ids in encode(texts):
        counts[list(set(ids))] += 1
    rarity = numpy.log((len(texts) + 1) / (counts + 0.5)).astype(numpy.float32)

    def embed(some: Sequence[str]) -> Any:  # noqa: ANN401 - an array of numpy
        rows = []
        for ids in encode(some):
            mean = (vectors[ids] * rarity[ids][:, None]).sum(0) if ids else vectors[0] * 0
            rows.append(numpy.round(mean / (numpy.linalg.norm(mean) + 1e-9) * 127))
        return numpy.array(rows, numpy.int8)

    return embed


def measure(queries: QuerySet, folder: Path) -> None:
    """Print one set's row."""
    with Store.open(folder / f"{queries.name}.db") as store:
        for document in queries.documents:
            store.add(SourceSpec(document.label, name=document.label, origin="file"), document.data)
        found = [store.search(one.query, limit=CANDIDATES)[0].hits for one in queries.targets]
        with store._access.reading() as db:
            rows = db.execute("SELECT id, leaf, chunk_text(body) FROM chunk").fetchall()
    started = time.process_time()
    texts = {chunk_id: f"{leaf} {body}" for chunk_id, leaf, body in rows}
    embed = embedder(list(texts.values()))
    vectors = dict(zip(texts, embed(list(texts.values())).astype(float), strict=True))
    cost_s = time.process_time() - started
    asked = embed([one.query for one in queries.targets]).astype(float)
    ranks: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
    for target, hits, vector in zip(queries.targets, found, asked, strict=True):
        cosines = [float(vectors[hit.chunk_id] @ vector) / 127**2 for hit in hits]
        for weight, values in ranks.items():
            values.append(_reciprocal_rank(hits, cosines, weight, target.label))
    megabytes = sum(len(document.data) for document in queries.documents) / 1e6
    means = "  ".join(f"{weight}: {statistics.fmean(one):.4f}" for weight, one in ranks.items())
    print(
        f"{queries.name:10} {means}  {cost_s:.1f} s CPU for {megabytes:.1f} MB,"
        f" {256 * len(texts) / 1e6:.1f} MB of vectors",
        flush=True,
    )


def _reciprocal_rank(
    hits: Sequence[Hit], cosines: Sequence[float], weight: float, label: str
) -> float:
    best = max((hit.score for hit in hits), default=1.0)
    scores = [hit.score / best + weight * cosine for hit, cosine in zip(hits, cosines, strict=True)]
    ordered = sorted(range(len(hits)), key=lambda at: -scores[at])
    files = list(dict.fromkeys(hits[at].source for at in ordered))[:SHOWN]
    return 1 / (files.index(label) + 1) if label in files else 0.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir()) / "corpora")
    arguments.add_argument("--set", action="append", help="only sets of this name")
    given = arguments.parse_args()
    folder = fetch(given.corpora, (*PACKAGES, *CODE_PACKAGES, *HELD_OUT_PACKAGES))
    for queries in (*query_sets(folder), *code_sets(folder), *held_out_sets(folder)):
        if not given.set or queries.name in given.set:
            with tempfile.TemporaryDirectory() as stores:
                measure(queries, Path(stores))


if __name__ == "__main__":
    main()
