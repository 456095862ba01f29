"""Running: a bench, a run on it and its folder: played, scored, written, and replayed.

Imports: data, datasets, errors, extraction, files, generation, ircot_laboratory, parameters,
playing, program, prompting, retrieval, systems, text.
"""
