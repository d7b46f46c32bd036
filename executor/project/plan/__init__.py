"""The part of a change set to apply, decided before anything is changed."""
