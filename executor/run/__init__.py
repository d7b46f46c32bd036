"""One run in order: job, runner, capture, outcome, artifacts, and where its output goes."""
