"""Runs the programs of many questions in full batches, and keeps every reply."""
