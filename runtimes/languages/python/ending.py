"""A faster end of a Python that waited for its program, if no program can notice.

When it ends, an interpreter collects garbage several times, each time among all objects from before
the program. If nothing that the program leaves is notified of the end, all is hidden from the
collector: after the program and its registered functions, and before the first collection. Nothing
here may run the program's code: types are read by `type` itself.
"""

import atexit
import gc
import os
import sys
from _thread import _count as count_threads
from _weakref import CallableProxyType, ProxyType, ReferenceType
from itertools import filterfalse, starmap

# By these a program could see that something is registered here, or that its objects are listed.
_WATCHING = (b"audit", b"_ncallbacks", b"_run_exitfuncs")
_STANDARD = os.path.dirname(os.__file__) + os.sep
_INSTALLED = ("site-packages", "dist-packages")
_TELL_AS_THEY_GO = {"_sqlite3", "_dbm", "_gdbm"}  # their objects write when they are freed
_BOOKKEEPERS = ("_weakrefset", "weakref")
_CALLBACK = ReferenceType.__dict__["__callback__"]


def arrange(program: str) -> None:
    """Shorten the end of this program, if it is possible by then.

    Raises:
        OSError: the program can't be read.
    """
    with open(program, "rb") as file:
        text = file.read()
    if any(word in text for word in _WATCHING):
        return
    known = set(sys.modules)
    collections = _collections()

    def shorten(*_: object) -> None:
        if _collections() == collections and _is_quiet(known) and not _is_awaited():
            gc.freeze()

    # If the program has calls traced, only built-in functions are called.
    tracers = zip(starmap(sys.gettrace, [()]), starmap(sys.getprofile, [()]), strict=True)
    atexit.register(next, starmap(shorten, filterfalse(any, tracers)), None)


def _collections() -> list[int]:
    """Return numbers that change when the program's objects reach the oldest generation."""
    return [generation["collections"] for generation in gc.get_stats()[1:]]


def _is_quiet(known: set[str]) -> bool:
    """Return whether nothing runs in parallel, and all code but the program is Python's own."""
    if count_threads() or gc.callbacks or gc.get_debug() or gc.get_freeze_count():
        return False
    new = sys.modules.keys() - known
    return new.isdisjoint(_TELL_AS_THEY_GO) and all(_is_standard(sys.modules[name]) for name in new)


def _is_standard(module: object) -> bool:
    if type(module) is not type(sys):
        return False
    path = module.__dict__.get("__file__", _STANDARD)  # built-in modules have none
    return (
        type(path) is str
        and path.startswith(_STANDARD)
        and not any(name in path for name in _INSTALLED)
    )


def _is_awaited() -> bool:
    """Return whether anything is notified of the end of an object that the program has made."""
    made = gc.get_objects(0) + gc.get_objects(1)
    kinds = {id(kind): kind for kind in map(type, made)}
    if not kinds.keys().isdisjoint({id(ProxyType), id(CallableProxyType)}):
        return True
    lines = {key: type.__getattribute__(kind, "__mro__") for key, kind in kinds.items()}
    if any(map(_has_finalizer, lines.values())):
        return True
    return any(ReferenceType in lines[id(type(thing))] and _calls_back(thing) for thing in made)


def _has_finalizer(line: tuple[type, ...]) -> bool:
    return any("__del__" in type.__getattribute__(kind, "__dict__") for kind in line)


def _calls_back(reference: object) -> bool:
    callback = _CALLBACK.__get__(reference)
    if callback is None:
        return False
    if type(callback) is type(len):
        return callback.__name__ != "_destroy"  # which the module abc has for itself
    return type(callback) is not type(arrange) or callback.__module__ not in _BOOKKEEPERS


# Existing objects go into the oldest generation, separate from the program's.
gc.freeze()
gc.unfreeze()
