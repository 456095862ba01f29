"""Annotation: judgements of chains of thought by people, and how far they agree (IRCoT §5).

Imports: data, errors, files, parameters, results.
"""
