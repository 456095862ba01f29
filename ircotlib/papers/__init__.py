"""Both papers beside our results: their numbers, tables and claims."""
