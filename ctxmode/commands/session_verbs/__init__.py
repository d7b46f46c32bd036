"""What the verb `sessions` does, a module each for kinds of sub-verbs."""
