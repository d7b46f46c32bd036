"""A Dask cluster: its scheduler assigns orders to workers; files are in shared storage.

Anyone who reaches the scheduler can run code on every worker, and on each front that connects: all
machines of a cluster are one domain of trust.
"""
