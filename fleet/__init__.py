"""The same request on other machines: what is ordered, what travels, and what comes back."""
