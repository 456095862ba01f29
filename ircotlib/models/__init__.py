"""Models: local ones and servers that write, what they may cost, and the extractive
reader.
"""
