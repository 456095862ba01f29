"""Multi-step question answering with retrieval: IRCoT, SearChain and their baselines, all on the
same models and the same retriever.
"""
