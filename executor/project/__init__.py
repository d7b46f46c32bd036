"""What a run changes reaches the project by one door: a commit after its last process is dead.

`record` says what the project was, `changes` what a run left, `commit` brings it in, and `store`
keeps what a person is to decide. All of it works on plain folders; no process is run in them.
"""
