"""Results of runs: statistics, figures, tables, causes of errors, the head to head."""
