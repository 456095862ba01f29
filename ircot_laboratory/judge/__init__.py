"""Judges whether sentences are true, and why answers are wrong; is judged itself."""
