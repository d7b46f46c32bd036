# The names of this room, each loaded at its first use.
from .registry import BY_NAME as BY_NAME
from .registry import ECOSYSTEMS as ECOSYSTEMS
from .registry import ecosystem_of as ecosystem_of
from .registry import find_missing as find_missing
from .tools import SHARED as SHARED
from .tools import Ecosystem as Ecosystem
from .tools import Tool as Tool
from .tools import find_tool as find_tool
from .tools import find_tools as find_tools
