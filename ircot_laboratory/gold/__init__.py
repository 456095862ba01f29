"""A reader that has a data set's own steps in place of weights: it plays systems on real questions
with the teachers' replies, to find the most that a method can retrieve.

Imports: ircotlib, questions, simulated, teachers, world.
"""
