# The names of this room, each loaded at its first use.
from . import engine as engine
from .engine import DockerEngine as DockerEngine
from .engine import Endpoint as Endpoint
