"""Draws tables and computes nothing; next to each picture is a CSV of its numbers."""
