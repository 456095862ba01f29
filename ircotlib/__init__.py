"""Multi-step question answering with retrieval: IRCoT, SearChain and their baselines on one set of
models and one retriever.
"""
