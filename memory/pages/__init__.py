"""Pages of knowledge: drafts in the project, versions in a git repository, changes by section."""
