"""Extraction: the small models that read one paragraph for an answer, and that tell whether a
query was asked before (SearChain §3.3).

Imports: errors, files, generation, metrics, program.
"""
