"""The command line: each module is one command of `ircotlib` (ircotlib/__main__.py); `checks`
and `plans` look at all that the parameters name and ask for before any work begins.

Imports: datasets, errors, explore, files, generation, parameters, prompting, results, retrieval,
running, systems, text.
"""
