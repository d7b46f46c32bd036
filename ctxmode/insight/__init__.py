"""The page that shows what is kept of a project: a server for one person, or one file. It reads."""
