"""The map of a repository: its files, symbols and history, and packs of what a task is about."""
