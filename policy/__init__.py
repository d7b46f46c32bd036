"""May this run? Parse, match, decide: pure functions; the verdict is always explained."""
