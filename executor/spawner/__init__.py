"""The spawner: a small process that forks sandboxed cells on request.

Standard library only, single-threaded, started by file path under `python -I -S`. The server
itself never forks: a large, threaded process forks slowly and unsafely, this one does neither.
"""
