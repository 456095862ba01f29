"""A reader that is simulated: it plays every system with the teachers' replies, and its abilities
are dials, the same for all systems. No weights are needed, and it answers at once.

Imports: ircotlib, judge, make, questions, teachers, world.
"""
