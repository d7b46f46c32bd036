"""The part of a change set that is applied, decided before anything is touched."""
