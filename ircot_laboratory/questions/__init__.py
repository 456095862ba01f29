"""Questions, worded as in nine data sets, with gold chains and worked examples."""
