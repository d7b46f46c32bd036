"""A started Python that waits for its program.

Placed as the interpreter's site configuration, which is imported last before the program is opened.
After the wait the environment's own is imported; if there is none, the import fails as it would
have failed.
"""

import os
import sys

_HERE = os.path.dirname(__file__)


def _wait() -> None:
    with open(os.path.join(_HERE, "gate"), "rb") as gate:
        for line in os.fsdecode(gate.read()).splitlines():
            name, _, value = line.partition("=")
            os.environ[name] = value
    own = [path for path in os.environ["PYTHONPATH"].split(":") if path]
    if any(map(_shadows, own)):
        with open("/proc/self/cmdline", "rb") as file:
            os.execv(sys.executable, file.read().split(b"\0")[:-1])  # noqa: S606 - as it was started
    sys.path[:] = own + [path for path in sys.path if path != _HERE]
    sys.path_importer_cache.pop(_HERE, None)


def _shadows(folder: str) -> bool:
    """Return whether an imported module of the interpreter should have come from there."""
    try:
        names = {name.partition(".")[0] for name in os.listdir(folder)}
    except OSError:
        return False
    loaded = {name for name, module in sys.modules.items() if getattr(module, "__file__", None)}
    loaded.discard("sitecustomize")
    return not names.isdisjoint(loaded)


_loaded = set(sys.modules)
_known = sys.implementation.name == "cpython" and (3, 10) <= sys.version_info < (3, 14)
_ending = __import__("ending") if _known else None
for _name in sys.modules.keys() - _loaded:
    del sys.modules[_name]
_wait()
del sys.modules["sitecustomize"]
try:
    __import__("sitecustomize")
finally:
    if _ending:
        _ending.arrange(os.path.join(os.path.dirname(_HERE), "main.py"))
