"""A Dask cluster: its scheduler gives each order to a worker, and files lie where all reach them.

Whoever reaches the scheduler runs code on every worker, and at each front that asks: all machines
of one are one domain of trust.
"""
