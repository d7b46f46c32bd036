"""One request becomes one result: guard, place in a sandbox, run, collect, keep."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
