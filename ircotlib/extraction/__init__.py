"""Extraction: the small models that read one paragraph for an answer, and that tell whether a
query was asked before (SearChain §3.2).

Imports: errors, files, generation, metrics, program.
"""
