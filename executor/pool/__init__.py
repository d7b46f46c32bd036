"""Everything that is made before its use, cells and containers, and the budget for it."""
