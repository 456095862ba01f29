"""Playing: plays the programs of many questions in full batches, and remembers every reply. It
knows programs and backends, and nothing of data sets, systems or benches.

Imports: data, errors, files, program.
"""
