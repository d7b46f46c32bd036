"""The only way by which a run's changes reach the project: a commit after its last process ended.

`view/` has the project as a run sees it and its changes, `rules/` the names that decide. `plan/`
chooses changes, `apply/` applies them, and `store/` stores those held for review. `commit_service`
and `store/store.py` call them in that order. All of it works on plain folders, in which no process
runs.
"""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
