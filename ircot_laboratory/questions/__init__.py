"""Questions about the encyclopedia, worded as in nine data sets, with gold chains and
worked examples.
"""
