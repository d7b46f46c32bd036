# The names of this room, each loaded at its first use.
from .commit_service import LISTED_MAX as LISTED_MAX
from .git.differences import find_renames as find_renames
from .rules.names import NAMES as NAMES
from .rules.names import check_move as check_move
from .store.change_set_folder import CONTENTS as CONTENTS
from .store.change_set_folder import Kept as Kept
from .store.change_set_folder import find_paths as find_paths
from .store.manifest import PREVENTING as PREVENTING
from .store.manifest import Change as Change
from .store.manifest import ChangeSet as ChangeSet
from .store.manifest import Commit as Commit
from .store.manifest import CommitError as CommitError
from .store.run_drafts import RunDrafts as RunDrafts
from .store.store import ChangeStore as ChangeStore
from .store.store import UnknownChangesError as UnknownChangesError
