# The names of this room, each loaded at its first use.
from .box import Meter as Meter
from .engine import Observe as Observe
from .engine import OnOutput as OnOutput
from .engine import PackagesAnswer as PackagesAnswer
from .tiers import FLOORS as FLOORS
from .tiers import PACKAGED as PACKAGED
from .tiers import TIERS as TIERS
