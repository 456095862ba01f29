"""Generation: models that write, on this machine or behind a server, and what they may cost.

Imports: errors, files, program, prompting, text.
"""
