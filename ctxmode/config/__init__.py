"""Configuration files: their keys, the origin of each value, and who may loosen what."""
