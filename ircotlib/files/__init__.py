"""Files: where they are, and how they are written whole, locked, checked, downloaded and
counted; the options and error lines that all commands share.
"""
