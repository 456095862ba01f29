"""Experiment: a setup, runs on it and their folders, and comparisons of systems: tuned on the dev
questions, run with their best setting on the test questions.
"""
