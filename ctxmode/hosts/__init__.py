"""Agents' hosts: registering with them, answering their hooks, and what their agents are told."""
