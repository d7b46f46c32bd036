"""Configuration files: what they may hold, where each value comes from, who may loosen what."""
