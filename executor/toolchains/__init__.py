"""Which languages really run here, and what their toolchains keep between compilations."""
