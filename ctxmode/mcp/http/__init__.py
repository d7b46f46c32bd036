"""The server over Streamable HTTP: access, tools, facts, health and metrics."""
