"""Registration with agents' hosts: a table of hosts, and edits that keep the rest of their files.

Every edit is a pure function from a file's text to its new text; files are written only after all
edits have succeeded.
"""
