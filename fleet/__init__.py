"""The same request on other machines, through an engine that exists."""
