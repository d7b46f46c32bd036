# ruff: noqa: E501 - programs stay in one piece
"""Programs that tell of their end, each in a way of its own."""

from __future__ import annotations

# What tells of its end.
FINALIZED = "class Told:\n    def __init__(self, how): self.how = how\n    def __del__(self): print('told', self.how)\n"

PYTHON_ENDS = {
    # What an end may tell. What hangs on a class goes when the collector finds it, if ever.
    "finalizer": f"{FINALIZED}kept = Told('by a name')",
    "finalizer in a cycle": f"{FINALIZED}told = Told('by a cycle')\ntold.self = told\ndel told",
    "finalizer of what was there": f"{FINALIZED}import os\nos._Environ.told = Told('by os')",
    "finalizer without attributes": "class Told:\n    __slots__ = ()\n    def __del__(self): "
    "print('told')\nclass Holds: told = Told()",
    "finalizer of a metaclass": "class Meta(type):\n    def __del__(self): print('told')\n"
    "class Made(metaclass=Meta): pass",
    "open file": "class Holds:\n    file = open('made.txt', 'w')\nHolds.file.write('x' * 10)",
    "open file of what was there": "import codecs\ncodecs.Codec.file = open('made.txt', 'w')\n"
    "codecs.Codec.file.write('x' * 10)",
    "open database": "import sqlite3\nclass Holds: base = sqlite3.connect('made.db')\n"
    "Holds.base.execute('pragma journal_mode = wal')\nHolds.base.execute('create table t (x)')",
    "open generator": "def count():\n    try:\n        yield 1\n    finally:\n        "
    "print('told')\nclass Holds: numbers = count()\nnext(Holds.numbers)",
    "weak reference": "import weakref\nclass Held: pass\nclass Holds: held = Held()\n"
    "reference = weakref.ref(Holds.held, lambda gone: print('told'))",
    "weak proxy": "import weakref\nclass Held: pass\nclass Holds: held = Held()\n"
    "import codecs\ncodecs.Codec.held = weakref.proxy(Holds.held, lambda gone: print('told'))",
    "finalize": "import weakref\nclass Held: pass\nclass Holds: held = Held()\n"
    "weakref.finalize(Holds.held, print, 'told')\n"
    "weakref.finalize(Holds, print, 'not told').atexit = False",
    "tracing": "import sys\nsys.settrace(lambda frame, event, arg: print(frame.f_code.co_name))",
    "profiling": "import atexit, sys\natexit.register(print, 'at exit')\n"
    "sys.setprofile(lambda frame, event, arg: print(event, frame.f_code.co_name))",
    "auditing": "import sys\nsys.addaudithook(lambda event, args: print(event, file=sys.stderr))",
    "collector": "import gc\nprint(gc.get_freeze_count(), gc.isenabled(), gc.get_threshold(), "
    "gc.garbage, gc.callbacks, gc.get_debug(), len(gc.get_objects()) > 3000, "
    "any(o is gc for o in gc.get_objects()))\n"
    "gc.callbacks.append(lambda phase, info: print(phase, info['generation']))",
    "collections": "import gc\nclass Node: pass\nfor n in range(30000):\n    a = Node(); a.self = a\n"
    f"print(n)\n{FINALIZED}class Holds: told = Told('late')",
    "own end": "import atexit\natexit._run_exitfuncs()\nimport gc\nprint(gc.get_freeze_count(), "
    "atexit._ncallbacks())",
    "forked child": f"import os\n{FINALIZED}class Holds: told = Told('each')\n"
    "if pid := os.fork():\n    print(os.waitpid(pid, 0)[1])",
    "standard modules": "import json, re, pathlib, collections, subprocess, csv, datetime, enum\n"
    "print(json.dumps({'a': [1]}), re.findall('[0-9]', 'a1'), pathlib.PurePath('a', 'b'))",
    "raising at exit": "import atexit\natexit.register(print, 'late', file=3)",
}
