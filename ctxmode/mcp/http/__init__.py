"""The server over Streamable HTTP: who may come in, and what else is served beside the tools."""
