"""Setups, runs, comparisons, workers, and access to the laboratory."""
