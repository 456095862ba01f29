"""Comparing: which runs there are, who plays them, what they cost, and what is checked before.

Imports: nothing.
"""
