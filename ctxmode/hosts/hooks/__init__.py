"""Hooks of agents' hosts: one adapter a host turns its event into a question, and a ruling into
its answer.

A hook runs at every tool call of a host, so nothing here imports trio, mcp or anything else that
takes time. Policy is loaded only for calls that rules could speak of.
"""
