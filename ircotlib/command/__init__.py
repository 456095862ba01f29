"""The command line: each module is one command of `ircotlib` (ircotlib/__main__.py).

Imports: comparing, data, datasets, errors, explore, files, generation, parameters, playing,
results, running, systems, text.
"""
