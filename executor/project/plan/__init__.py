"""What of a change set is applied, decided before anything is touched."""
