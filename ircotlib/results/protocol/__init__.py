"""The protocol sheet: what a paper must say of a run so that its numbers can be compared.

Imports: datasets, errors, files, metrics, parameters, program, prompting, retrieval, running,
systems, text.
"""
