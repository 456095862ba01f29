"""Results of runs: statistics, figures, tables, the head to head."""
