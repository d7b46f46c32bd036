"""Registering with agents' hosts: one table of hosts, and edits of their files that keep the rest.

Every edit is a pure function from a file's text to its new text; nothing is written before all
of them succeeded.
"""
