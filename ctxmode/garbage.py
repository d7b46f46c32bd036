"""Python's garbage collector, paused while modules load and while the process ends.

Modules stay loaded, so collecting among them is wasted: it takes a tenth of a start. Only a process
that is the command's own may pause the collector.
"""

from __future__ import annotations

import gc


def pause() -> None:
    """Stop collecting, before modules are loaded."""
    gc.disable()


def resume() -> None:
    """Collect again, among objects made from now on; does nothing where it was not paused."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def end() -> None:
    """Exempt all objects from the collection that ends the process."""
    gc.freeze()
