"""Which names and links decide on a change."""
