"""What we keep out of the context window: detect, chunk, store, search."""
