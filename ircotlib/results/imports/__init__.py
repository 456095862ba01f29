"""Runs in the formats of others, read and written as runs of this workbench."""
