"""Chains and references to judge, the box, and agreement."""
