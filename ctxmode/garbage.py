"""When Python looks for garbage: not while modules are loaded, nor where the process ends.

What is loaded stays, so that looking through it again and again takes a tenth of a start, and once
more before all memory is given back anyway. For a process that is the command's own.
"""

from __future__ import annotations

import gc


def pause() -> None:
    """Modules are about to be loaded."""
    gc.disable()


def resume() -> None:
    """They are loaded: from here on garbage is looked for, in what is made from here on.

    Does nothing where it was not paused.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def end() -> None:
    """The process ends: there is nothing worth looking for."""
    gc.freeze()
