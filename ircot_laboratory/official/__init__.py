"""Worlds and questions as records in the official formats of the nine data sets."""
