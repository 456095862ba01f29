"""The encyclopedia: people, places, works, the relations between them, and the pages that state
them.

Imports: nothing of ircotlib.
"""
