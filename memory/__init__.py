"""Memory of agents: facts, pages and sessions, each with its own store."""
