"""Both papers beside our results: their numbers, tables, claims; and real outputs."""
