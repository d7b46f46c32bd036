# The names of this room, each loaded at its first use.
from .engine.engine import (
    Completed as Completed,
)
from .engine.engine import (
    LanguageReport as LanguageReport,
)
from .errors import (
    PackagesError as PackagesError,
)
from .errors import (
    RequestError as RequestError,
)
from .errors import (
    SandboxError as SandboxError,
)
from .errors import (
    SandboxUnavailableError as SandboxUnavailableError,
)
from .model import (
    Isolation as Isolation,
)
from .model import (
    Layer as Layer,
)
from .model import (
    Limits as Limits,
)
from .model import (
    Request as Request,
)
from .model import (
    Result as Result,
)
from .model import (
    Status as Status,
)
from .model import (
    Stream as Stream,
)
from .model import (
    Usage as Usage,
)
from .opening import open_engine as open_engine
from .request import Caller as Caller
from .service import LocalEngine as LocalEngine
from .sessions.background import (
    Background as Background,
)
from .sessions.background import (
    Backgrounds as Backgrounds,
)
from .sessions.background import (
    open_backgrounds as open_backgrounds,
)
from .sessions.registry import SessionLimits as SessionLimits
from .settings import Settings as Settings
