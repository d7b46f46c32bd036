"""Model Context Protocol: tools, their arguments, and the stdio transport."""
