"""Annotation: chains of thought and references that people judge (IRCoT §5, SearChain Table 5), a
box to judge them in, and how far judges agree.
"""
