"""What works on this machine, what does not, and which command helps."""
