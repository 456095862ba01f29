"""Exploring: traces as text, one question through all systems, asking a question of your own, and a
page of runs to hand on.

Imports: data, datasets, errors, files, metrics, parameters, playing, program, results, retrieval,
running, systems, text.
"""
