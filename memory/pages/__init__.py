"""Pages of project knowledge: drafts in the project, versions in git, changes by section."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
