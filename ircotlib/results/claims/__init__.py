"""The claims of both papers that runs can test, and verdicts on them.

Imports: parameters, prompting, running, systems.
"""
