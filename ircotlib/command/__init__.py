"""The command line: each module is one command of `ircotlib` (ircotlib/__main__.py); `checks`
looks at everything that the parameters name before any work begins.

Imports: datasets, errors, explore, files, parameters, prompting, retrieval, running, systems.
"""
