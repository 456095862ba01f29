"""Prompts: templates, demonstrations, and what is left out where a window is too short."""
