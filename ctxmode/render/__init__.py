"""Answers as text and tables, for agents and for people at a terminal."""
