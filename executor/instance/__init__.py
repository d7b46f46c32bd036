"""One server among several of a user: its lock, control socket, folder, and child processes."""
