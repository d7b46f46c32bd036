"""Rules on names and links that decide on a change."""
