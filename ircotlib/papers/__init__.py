"""Both papers beside what was run here: their numbers, tables and claims; and real outputs."""
