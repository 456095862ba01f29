"""The laboratory: a fictional encyclopedia, questions about it worded as in nine data sets, and
worked examples, all drawn from a seed.

It writes official files, which the data sets' own loaders read; none of it needs a model.
"""
