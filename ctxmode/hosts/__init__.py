"""Agents' hosts: registration, answers to their hooks, and texts for their agents."""
