"""What the executor asks of a back end: the protocols that cells and containers implement."""
