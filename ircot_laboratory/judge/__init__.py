"""Judges whether sentences are true; is judged itself."""
