"""The laboratory: a fictional encyclopedia, questions about it worded as in nine data sets, and
worked examples, all drawn from a seed.

It writes files in the official formats, which the data sets' own loaders read. No model is needed.
"""
