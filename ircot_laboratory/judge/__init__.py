"""The judge, which decides whether a sentence is true in a world, and why answers are
wrong; and sentences made false on purpose, to check the judge.
"""
