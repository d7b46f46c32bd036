"""One request becomes one result: guard, place in a sandbox, run, collect, keep."""
