"""What runs say: statistics, figures, tables, causes of errors, the head to head."""
