"""The agent in a container: its first process, which starts, watches and reports its programs.

Standard library only. In the image it lies beside a copy of `executor.spawner`, whose supervisor it
gives a control socket of its own. Its messages travel in frames over the container's attached
standard streams.
"""
