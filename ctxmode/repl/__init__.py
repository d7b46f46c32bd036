"""An interactive session: what is typed, where a program ends, and what is said of it."""
