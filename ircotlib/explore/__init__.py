"""Exploring: traces in plain words, as text and as HTML; runs question by question; asking.

Imports: data, datasets, errors, files, metrics, parameters, program, results, running, systems,
text.
"""
