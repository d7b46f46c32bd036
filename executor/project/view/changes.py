"""What a run left behind in its view of the project, however that view was made."""

from executor.project.store.manifest import Change, ChangeSet, LeftOut
from executor.project.view.copies import of_copy
from executor.project.view.upper import as_the_host_has_it, of_upper

__all__ = ["Change", "ChangeSet", "LeftOut", "as_the_host_has_it", "of_copy", "of_upper"]
