# The names of this room, each loaded at its first use.
from . import child_processes as child_processes
from . import control as control
from .control import PrewarmReport as PrewarmReport
from .lock import is_alive as is_alive
from .lock import join as join
from .lock import remove as remove
