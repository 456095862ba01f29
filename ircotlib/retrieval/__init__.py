"""Retrieval: stores the paragraphs of a corpus and finds the best ones for a query, with BM25 in
this process or on Elasticsearch, or with vectors.

Imports: data, files, program.
"""
