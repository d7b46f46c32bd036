"""Hooks of agents' hosts: an adapter per host converts its events, and rulings into its answers.

A hook runs at every tool call of a host, so this package imports neither trio nor mcp nor other
slow modules. The policy is loaded only for calls to which rules can apply.
"""
