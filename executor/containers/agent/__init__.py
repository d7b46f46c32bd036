"""The agent in a container: its first process, which starts, watches and reports its programs.

Standard library only. In the image it is next to a copy of `executor.spawner`, whose supervisor it
gives its own control socket. Its messages travel in frames over the container's attached standard
streams.
"""
