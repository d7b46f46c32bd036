"""Pages from the web, fetched under the rules and within bounds, as text that can be searched."""
