"""What a system did, step by step: the explorer, questions as HTML, the report."""
