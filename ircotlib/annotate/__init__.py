"""Chains to judge by hand, and the form for it."""
