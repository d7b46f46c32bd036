# The names of this room, each loaded at its first use.
from . import own as own
from .detecting import Contents as Contents
from .detecting import detect_form as detect_form
from .detecting import keep_sessions as keep_sessions
from .detecting import list_contents as list_contents
from .importer import Ground as Ground
from .importer import Importer as Importer
from .importer import State as State
from .importer import Transcript as Transcript
from .importer import find_form as find_form
from .whole_json import RefusedError as RefusedError
from .whole_json import read_members as read_members
