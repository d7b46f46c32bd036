"""An interactive session: reading programs, running them, and commands for the session itself."""
