"""Results: from the folders of runs to tables of scores and costs, tests, causes of errors, and
figures with the papers' numbers beside ours.

Imports: data, datasets, errors, experiment, files, metrics, parameters, retrieval, systems, text.
"""
