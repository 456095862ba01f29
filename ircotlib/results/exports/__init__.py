"""Runs in the formats of others: TREC's tools, official scorers, viewers of traces."""
