"""Shortens the end of a Python that waited for its program, where no program can tell.

At its end an interpreter collects garbage several times, each time among all that it had before
the program began. Where nothing that the program leaves is told of its end, all is taken out of
the collector's sight: after the program and all that it has registered, and before the first time.
Nothing here may run code of the program's: types are asked by `type` itself.
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
    """Have the end of this program shortened, if it can be by then.

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

    # Where the program has calls traced, nothing is called but what is built in.
    tracers = zip(starmap(sys.gettrace, [()]), starmap(sys.getprofile, [()]), strict=True)
    atexit.register(next, starmap(shorten, filterfalse(any, tracers)), None)


def _collections() -> list[int]:
    """What changes when an object of the program's may be in the oldest generation."""
    return [generation["collections"] for generation in gc.get_stats()[1:]]


def _is_quiet(known: set[str]) -> bool:
    """Whether nothing goes on beside the end, and all code but the program is Python's own."""
    if count_threads() or gc.callbacks or gc.get_debug() or gc.get_freeze_count():
        return False
    new = sys.modules.keys() - known
    return new.isdisjoint(_TELL_AS_THEY_GO) and all(_is_standard(sys.modules[name]) for name in new)


def _is_standard(module: object) -> bool:
    if type(module) is not type(sys):
        return False
    path = module.__dict__.get("__file__", _STANDARD)  # what is built in has none
    return (
        type(path) is str
        and path.startswith(_STANDARD)
        and not any(name in path for name in _INSTALLED)
    )


def _is_awaited() -> bool:
    """Whether the end of an object that the program has made is noticed by anyone."""
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


# What there is goes into the oldest generation, apart from what the program will make.
gc.freeze()
gc.unfreeze()
