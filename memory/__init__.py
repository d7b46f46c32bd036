"""Memory beside runs and their outputs; each part has a truth of its own."""
