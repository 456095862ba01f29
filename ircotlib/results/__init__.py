"""Results: from the folders of runs to tables, the papers' claims, causes of errors, and figures
with the papers' numbers beside ours.

Imports: comparing, data, datasets, errors, files, metrics, parameters, playing, program,
prompting, retrieval, running, systems, text.
"""
