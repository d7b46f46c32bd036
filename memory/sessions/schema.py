"""The tables of a store of sessions, `tables.sql`. `base.stores.migrate` runs `STEPS`."""

from __future__ import annotations

from functools import partial

from base.stores import Step, run_script

create_tables: Step = partial(run_script, module=__file__, name="tables.sql")
"""Make all tables and indexes of a new store."""

STEPS: tuple[Step, ...] = (create_tables,)
