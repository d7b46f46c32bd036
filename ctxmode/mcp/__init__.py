"""The Model Context Protocol front: tools, their arguments, and the stdio transport."""
