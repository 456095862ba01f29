"""The encyclopedia: people, places, works, the relations between them (the tables
beside this file), and the pages that state them.
"""
