"""Exploring: traces as text, one question through all systems, asking a question of your own.

Imports: data, datasets, errors, files, metrics, parameters, program, results, running, systems,
text.
"""
