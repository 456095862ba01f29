"""Prompts: templates, the demonstrations shown in them, and what is left out where a model's
window is too short.
"""
