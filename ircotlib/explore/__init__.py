"""Exploring: traces in plain words; runs question by question; a page to hand on; asking."""
