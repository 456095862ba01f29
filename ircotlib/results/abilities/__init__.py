"""Which system answers best, depending on how able the reader is: plays of the simulated reader,
and the figures that they make (docs/abilities.md).

Imports: datasets, parameters, running, systems.
"""
