"""Trains the extractive reader (SearChain §3.2): draw_examples.py draws queries with
paragraphs that do or do not state their answers, model.py has the model, its tensors
and its losses, and evaluate.py how well it reads.
"""
