"""Engine: runs the programs of many questions in full batches, and keeps every reply. It knows
programs and backends, and nothing of data sets, systems or setups.
"""
