"""Web pages, fetched within rules and limits, as searchable text."""
