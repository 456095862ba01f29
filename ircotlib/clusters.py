"""Clusters of texts, for examples that are unlike each other (Auto-CoT)."""

from collections.abc import Callable, Sequence
from functools import cache


@cache
def cluster_texts(texts: tuple[str, ...], k: int, embed: Callable, seed: int) -> list[list[int]]:
    """The places of the texts of each of at most k clusters, those nearest its centre first (Zhang
    2023 §4: k-means). Raises ImportError without the extra `dense`.
    """
    try:
        from sklearn.cluster import KMeans
    except ImportError as error:
        found = f"found no scikit-learn ({error}), which Auto-CoT's clusters need"
        raise ImportError(f"{found}: pip install -e '.[dense]'") from error
    means = KMeans(min(k, len(set(texts))), random_state=seed, n_init=10)
    distances = means.fit_transform(embed(texts))
    clusters = [[] for _ in range(means.n_clusters)]
    for place in sorted(range(len(texts)), key=lambda place: distances[place].min()):
        clusters[means.labels_[place]].append(place)
    return clusters


def count_words(texts: Sequence[str]):
    """Texts as TF-IDF vectors of their words, a row each."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=r"\w+").fit_transform(texts)
