"""The languages that really run here, and the files that toolchains keep between compilations."""
