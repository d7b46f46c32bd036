"""An import that is killed at any statement was done wholly, or not at all (X13)."""

from __future__ import annotations

import json

from memory.facts.restoring import check_store
from tests.memory.facts.killing import KILLED, run_script
from tests.memory.facts.stores import open_facts
from tests.memory.facts.stores import standing as stands

_SCRIPT = """
import sys
from memory.facts.importing import import_facts
from tests.memory.facts.killing import kill_at
from tests.memory.facts.stores import PERSON, open_facts
from pathlib import Path
with open_facts(Path(sys.argv[1])) as store:
    kill_at(store, int(sys.argv[2]))
    import_facts(store, sys.argv[3], author=PERSON)
"""


def test_x13_an_import_that_is_killed_is_whole_or_not_begun(tmp_path):
    rows = [{"path": f"/memory/x/{name}", "text": name} for name in "abc"]
    text = json.dumps({"facts": rows})
    outcomes, step = set(), 0
    while True:
        step += 8
        folder = tmp_path / str(step)
        ended = run_script(_SCRIPT, str(folder), str(step), text)
        with open_facts(folder) as store:
            count = len(stands(store))
            assert count in (0, 3)
            assert check_store(store) == ()
        outcomes.add((ended, count))
        if ended == 0:
            break
        assert ended == KILLED
    assert outcomes >= {(KILLED, 0), (0, 3)}
