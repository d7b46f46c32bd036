# The names of this room, each loaded at its first use.
from .capture import HEAD_SHARE as HEAD_SHARE
from .capture import Capture as Capture
from .capture import cut_head as cut_head
from .capture import cut_tail as cut_tail
from .capture import safe_name as safe_name
from .commits import RemoteCommits as RemoteCommits
from .execution import client_environ as client_environ
from .execution import first_line as first_line
from .execution import grant_environment as grant_environment
from .output_routing import OUTPUT_PREFIX as OUTPUT_PREFIX
from .output_routing import Answer as Answer
from .output_routing import Keep as Keep
