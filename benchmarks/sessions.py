"""Sessions: how fast transcripts are read, secrets taken out."""

from __future__ import annotations

import time
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.harness import Bench, measure
from benchmarks.transcripts import write_transcript
from ctxmode.hosts.claude_code.transcript import IMPORTER
from ctxmode.operations.session_store import open_session_store
from memory.sessions.importers.importer import Transcript


@measure(2, mib="12", transcripts="-")
async def imports(bench: Bench) -> None:
    """Measure first imports of transcripts of Claude Code, or of one that is made up."""
    if bench.options["transcripts"] == "-":
        made = bench.folder / "made.jsonl"
        write_transcript(made, int(bench.options["mib"]) << 20, session="made", cwd="/p")
        transcripts = [made]
    else:
        transcripts = [Path(name) for name in bench.options["transcripts"].split(",")]
    megabytes = sum(path.stat().st_size for path in transcripts) / 1e6
    numbers = count()

    def read(*, keep_messages: bool) -> None:
        path = bench.folder / f"{next(numbers)}.sqlite3"
        with open_session_store(path, "", "", keep_messages=keep_messages) as store:
            for one in transcripts:
                store.import_transcript(IMPORTER, Transcript(str(one), one.stem))

    for keep, what in ((False, "events alone"), (True, "messages, too")):
        side = partial(read, keep_messages=keep)
        (took,) = await bench.turns(side, warm_up=0, clock=time.process_time)
        rate = megabytes / min(took)
        bench.value(f"{what}: read a second of the processor", rate, "MB", bar="≥ 8 MB")
    bench.notes.append(f"{megabytes:.1f} MB, the best of {bench.rounds} first imports")
