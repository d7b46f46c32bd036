"""The read-only site about a project's stored data: a server for one user, or one HTML file."""
