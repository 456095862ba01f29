"""Exploring: traces in plain words, as text and as HTML; runs question by question; a page of runs
to hand on; asking.
"""
