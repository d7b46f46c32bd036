"""The corpus of secrets through maps, packs, warnings and exports: no value is in any of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxmode.config.locations import load_config
from ctxmode.operations.packs import PackAsked, make_pack, write_map
from repomap.reading import MARK
from tests.base.secret_corpus import POSITIVES, PRIVATE_KEYS
from tests.repomap.repositories import write_files

BUDGET = 1_000_000
PARTS = [f"# key {at}\n{before}{secret}{after}\n\n"
         for at, (_, before, secret, after) in enumerate(POSITIVES)]  # fmt: skip
PARTS += [f"# key\n{key}\n\n" for key in PRIVATE_KEYS]
TEXTS = {f"s/{at}.txt": "".join(PARTS[at : at + 10]) for at in range(0, len(PARTS), 10)}
SECRETS = [secret for _, _, secret, _ in POSITIVES]
BODIES = [line for key in PRIVATE_KEYS for line in key.split("\n")[1:-1] if len(line) > 40]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    project = write_files(folder / "project", TEXTS)
    return load_config(
        str(project), environ={"HOME": str(folder), "CONTEXT_MODE_DIR": str(folder / "data")}
    )


def list_leaks(text: str) -> list[str]:
    return [one for one in (*SECRETS, *BODIES) if one in text or json.dumps(one)[1:-1] in text]


@pytest.mark.parametrize("shape", ["markdown", "json"])
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("task", ["", "key", SECRETS[0]])
def test_no_secret_is_in_a_pack_or_its_warnings(config, shape, with_source, task):
    asked = PackAsked(task, BUDGET, format=shape, with_source=with_source)
    pack = make_pack(config, asked).pack
    assert len(pack.items) == len(TEXTS)
    assert list_leaks(pack.text + "\n".join(pack.warnings)) == []
    if with_source and task:
        assert len(pack.warnings) > len(SECRETS) / 2


def test_the_control_a_pack_that_may_has_them(config):
    pack = make_pack(config, PackAsked("key", BUDGET, has_secrets=True)).pack
    assert len(list_leaks(pack.text)) > len(SECRETS) / 2


def test_no_secret_is_in_the_map_or_what_is_written_of_it(config, tmp_path):
    make_pack(config, PackAsked("key", BUDGET))
    written = write_map(config, tmp_path / "out", PackAsked(budget=BUDGET, is_map=True, mark=MARK))
    kept = [path for path in Path(config.data_dir).rglob("*") if path.is_file()]
    assert any(path.name.endswith(".repomap.sqlite3") for path in kept)
    for path in (*written, *kept):
        assert list_leaks(path.read_bytes().decode("latin-1")) == [], path.name
