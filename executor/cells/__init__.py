"""Tiers A and B: cells that the spawner makes, what they see, and their control groups."""
