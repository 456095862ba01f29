"""Setups, runs, comparisons, workers, and the door to the laboratory."""
