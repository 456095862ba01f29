"""Four studies of our own, drawn by the notebooks 11 to 14: how all systems compare
(`head_to_head`), what a query must say to find the next gold paragraph (`ask_or_state`,
`contrasts`), where retrieval helps real models (`real_outputs`, `real_gains`), and what
changes of IRCoT cost (`wild`, `real_chains`). The library does not import them.
"""
