"""Tier C: programs in containers of a Docker engine, here or elsewhere."""
