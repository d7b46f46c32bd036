"""Facts that are found again: a ledger that is only added to, branches, recall in a budget."""
