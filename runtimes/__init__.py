"""Which languages exist, how each is started, compiled and probed. Data first."""
