"""Attacks on what an agent is shown: secrets that a program spells so that their bytes differ."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from base.secrets import find_secrets
from ctxmode.render.redaction import redact_answer
from ctxmode.render.results import streams_text
from executor import Limits, Status
from kb import Origin, SourceSpec, Store
from tests.base.spellings import CASES, core_of, reveal
from tests.escapes.arena import Arena
from tests.escapes.attack import STARTED, Attack, Stopped, python

SHOWN_BYTES = 3500  # of what an answer shows as a whole
PRINT = """
import base64
sys.stdout.flush()
sys.stdout.buffer.write(base64.b64decode("{text}"))
"""


def _batches() -> Iterator[dict[str, str]]:
    """Yield spelled texts with their secrets, as many at once as an answer shows."""
    batch: dict[str, str] = {}
    for _, spell, secret, _ in CASES:
        if sum(len(text.encode()) + 2 for text in (*batch, spell(secret))) > SHOWN_BYTES:
            yield batch
            batch = {}
        batch[spell(secret)] = secret
    yield batch


async def _no_spelling_is_shown(arena: Arena) -> None:
    """The control: the very output, as a person's terminal gets it, has every secret."""
    for number, batch in enumerate(_batches()):
        text = base64.b64encode("\n\n".join(batch).encode()).decode()
        result = await arena.run(python(PRINT.replace("{text}", text)), limits=Limits(wall_s=20))
        assert result.status is Status.OK, result.message
        printed = streams_text(result)
        assert STARTED in printed
        shown, data = redact_answer(printed, result.to_json())
        with Store.open(arena.tmp_path / f"kb-{number}", redact=find_secrets) as store:
            added = store.add(SourceSpec("output", Origin.RUN), printed.encode())
            stored = store.text(added.source_id).decode()
        for spelled, secret in batch.items():
            core = core_of(secret)
            assert core in reveal(printed), spelled
            for text in (shown, data["stdout"]["head"], stored):
                assert core not in reveal(text), spelled


ATTACKS = (
    Attack(
        "X79",
        "secrets in colours, escapes, encodings, overstrikes and unseen characters",
        Stopped("searched in the readable text, not in the bytes"),
        scenario=_no_spelling_is_shown,
    ),
)
