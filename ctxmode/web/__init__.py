"""Pages from the web: fetched under the rules, within bounds, as text that can be searched."""
