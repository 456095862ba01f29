"""Comparing: an experiment as a value, which runs it has, who plays them, what they cost, and what
is checked before. Nothing of results: that reads what was run.

Imports: datasets, errors, files, generation, parameters, playing, program, prompting, retrieval,
running, systems.
"""
