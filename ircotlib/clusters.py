"""Clusters of texts, for choosing diverse examples (Auto-CoT)."""

from collections.abc import Callable, Sequence
from functools import cache


@cache
def cluster_texts(texts: tuple[str, ...], k: int, embed: Callable, seed: int) -> list[list[int]]:
    """Group texts into at most k clusters by k-means (Zhang 2023 §4). Each cluster is a list of
    positions in `texts`, those nearest to its centre first. Raises ImportError without the extra
    `dense`.
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
    """The TF-IDF vectors of texts, one row per text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=r"\w+").fit_transform(texts)
