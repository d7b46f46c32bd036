"""Entry of a container's first process: `python3 -I -S /opt/ctxmode/agent/__main__.py`."""

import sys
from pathlib import Path
from types import ModuleType

# In the image the packages lie side by side; here they go by the names that they have at home.
for name in ("executor", "executor.containers"):
    package = ModuleType(name)
    package.__path__ = [str(Path(__file__).parents[1])]
    sys.modules[name] = package
sys.path.append(str(Path(__file__).parents[1]))

from executor.containers.agent.main import main  # noqa: E402 - found by the names above

if __name__ == "__main__":
    main()
