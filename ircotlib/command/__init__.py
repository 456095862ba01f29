"""The command line: each module is one command of `ircotlib` (ircotlib/__main__.py).

Imports: comparing, datasets, errors, explore, files, generation, parameters, playing, running,
systems, text.
"""
