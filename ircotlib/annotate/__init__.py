"""Chains to judge by hand, the form for it, and agreement."""
