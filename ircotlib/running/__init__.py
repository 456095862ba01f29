"""Running: plays the programs of many questions in full batches, remembers every reply, keeps
each run in a folder; tuning, comparing and replaying.

Imports: data, datasets, errors, extraction, files, generation, ircot_laboratory, parameters,
program, prompting, ranges, retrieval, systems.
"""
