"""Trains the T5s and the causal model that stand in for Flan-T5 and GPT-3. recipe.py
plans the steps, draw_examples.py draws questions and chains that are partly written,
examples.py writes them as prompt and target, sources.py finds where each word comes
from, teach.py has the T5s' losses.
"""
