"""Prompts: templates, demonstrations, and what is left out of one too long."""
