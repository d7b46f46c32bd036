# The names of this room, each loaded at its first use.
from .chunkers import CHUNKERS as CHUNKERS
from .chunking import chunk as chunk
from .chunks import (
    CAP_BYTES as CAP_BYTES,
)
from .chunks import (
    TARGET_BYTES as TARGET_BYTES,
)
from .chunks import (
    Chunk as Chunk,
)
from .chunks import (
    ChunkedDocument as ChunkedDocument,
)
from .connection import fts5_available as fts5_available
from .directory import (
    DirectoryProgress as DirectoryProgress,
)
from .directory import (
    DirectoryReport as DirectoryReport,
)
from .directory import (
    OnProgress as OnProgress,
)
from .directory import (
    index_file as index_file,
)
from .directory import (
    index_paths as index_paths,
)
from .directory import (
    index_selection as index_selection,
)
from .directory import watch as watch
from .errors import (
    StoreBusyError as StoreBusyError,
)
from .errors import (
    StoreCorruptError as StoreCorruptError,
)
from .errors import (
    StoreError as StoreError,
)
from .errors import (
    StoreFullError as StoreFullError,
)
from .errors import (
    StoreLateError as StoreLateError,
)
from .errors import (
    StoreQuotaError as StoreQuotaError,
)
from .errors import (
    StoreReadOnlyError as StoreReadOnlyError,
)
from .errors import (
    StoreUnavailableError as StoreUnavailableError,
)
from .errors import (
    UnknownSourceError as UnknownSourceError,
)
from .explaining import explain as explain
from .filters import Filters as Filters
from .model import (
    Check as Check,
)
from .model import (
    Correction as Correction,
)
from .model import (
    ExplainedHit as ExplainedHit,
)
from .model import (
    Hit as Hit,
)
from .model import (
    Indexed as Indexed,
)
from .model import (
    Origin as Origin,
)
from .model import (
    Progress as Progress,
)
from .model import (
    Purged as Purged,
)
from .model import (
    QueryExpression as QueryExpression,
)
from .model import (
    QueryResult as QueryResult,
)
from .model import (
    RankExplanation as RankExplanation,
)
from .model import (
    SearchState as SearchState,
)
from .model import (
    Source as Source,
)
from .model import (
    SourceSpec as SourceSpec,
)
from .model import (
    Stats as Stats,
)
from .store import Store as Store
from .tokens import estimate_tokens as estimate_tokens
from .walking import (
    Selection as Selection,
)
from .walking import (
    Skipped as Skipped,
)
