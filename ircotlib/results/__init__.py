"""Results of runs: statistics, figures, tables."""
