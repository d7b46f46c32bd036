"""How packages of each language are had, in two phases. Data first."""

from runtimes.packages.model import Ecosystem, Tool
from runtimes.packages.registry import BY_NAME, ECOSYSTEMS, ecosystem_of, find_tool, find_tools

__all__ = ["BY_NAME", "ECOSYSTEMS", "Ecosystem", "Tool", "ecosystem_of", "find_tool", "find_tools"]
