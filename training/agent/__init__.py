"""Trains the agent (docs/laboratory.md) on transcripts of every system:
draw_transcripts.py plays a system's own program with the teachers' replies,
transcripts.py joins its turns, sources.py finds where each word comes from; lessons.py
and drills.py teach the rest.
"""
