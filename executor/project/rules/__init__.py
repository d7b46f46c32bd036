"""Names and links that decide on a change."""
