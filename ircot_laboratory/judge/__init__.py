"""The judge, which says whether a sentence is true in a world, the causes of wrong answers, and
sentences made false on purpose, on which the judge is checked.
"""
