"""The one door by which a run's changes reach the project: a commit after its last process is dead.

`view/` says what a run sees and what it left changed, `rules/` which names decide. `plan/` says
what is applied, `apply/` brings it in, and `store/` keeps what a person is to decide. `door` and
`commit` call them in that order. All of it works on plain folders; no process is run in them.
"""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
