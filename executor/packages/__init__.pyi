# The names of this room, each loaded at its first use.
from .model import LayerInfo as LayerInfo
from .model import PackageSettings as PackageSettings
from .model import Registry as Registry
from .model import reach_of as reach_of
from .store import LayerStore as LayerStore
