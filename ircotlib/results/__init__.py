"""Results: from the folders of runs to tables of scores and costs, tests, causes of errors, and
figures with the papers' numbers beside ours.
"""
