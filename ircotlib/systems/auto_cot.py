"""Auto-CoT: a chain of thought whose examples the model writes itself (Zhang 2023)."""

from collections.abc import Sequence
from functools import cache

from ircotlib.data import Question
from ircotlib.program import LINE, Generate, Program
from ircotlib.systems import Prompts, WritePrompt, system
from ircotlib.systems.cot import read_answer
from ircotlib.systems.direct import NEXT

SO = "\nTherefore, the answer is"  # makes a chain give its answer (Kojima 2022)


@cache
def cluster_texts(texts: tuple[str, ...], k: int, seed: int) -> list[list[int]]:
    """The positions of texts in at most k clusters, nearest its centre first (§4)."""
    from sklearn.cluster import KMeans  # takes a second to import
    from sklearn.feature_extraction.text import TfidfVectorizer

    # a text without a word, such as "?", is a word of its own
    vectors = TfidfVectorizer(token_pattern=r"\w+|^\W+$").fit_transform(texts)
    means = KMeans(min(k, len(set(texts))), random_state=seed, n_init=10)  # tries: ours
    distances = means.fit_transform(vectors)
    clusters: list[list[int]] = [[] for _ in range(means.n_clusters)]
    for position in distances.min(axis=1).argsort(kind="stable"):
        clusters[means.labels_[position]].append(int(position))
    return clusters


@system(
    "Auto-CoT",
    chain="writes a chain of thought without examples",
    ask="writes a chain of thought, shown its own examples",
)
def auto_cot(
    question: Question,
    *,
    prompts: Prompts,
    others: Sequence[Question],
    examples: int = 4,  # SearChain, Table 11: 4; StrategyQA 6, FEVER and ELI5 2
    seed: int = 0,  # of k-means (ours)
    max_tokens: int = 256,  # of a chain (released program)
) -> Program:
    """Let the model write an example for each cluster of the data set's questions,
    `others`, zero-shot; then answer with these, step by step (Zhang 2023 §4).

    Differs from the paper: questions are clustered by their TF-IDF vectors, not by
    those of all-MiniLM-L6-v2.
    """
    zero_shot = prompts["chain"]
    others = others or (question,)  # without a data set
    texts = tuple(other.text for other in others)
    blocks: list[str] = []
    for cluster in cluster_texts(texts, examples, seed):
        near = [others[position] for position in cluster]
        blocks += yield from write_example(near, zero_shot, max_tokens=max_tokens)
    prompt = zero_shot(question)
    if blocks:  # above the same trigger (released program)
        prompt = prompts["ask"](question, examples="\n\n\n".join(blocks))
    return read_answer((yield Generate(prompt, NEXT, max_tokens)))


def write_example(
    questions: Sequence[Question],
    prompt: WritePrompt,
    *,
    max_words: int = 60,  # of the question (§4)
    max_lines: int = 5,  # of its chain (§4)
    max_tokens: int = 256,  # released program
    answer_tokens: int = 32,  # released program
) -> Program:
    """A list of the first question with a short, complete chain, as an example (§4)."""
    for question in questions:
        if len(question.text.split()) > max_words:  # not simple enough (§4)
            continue
        chain = yield Generate(prompt(question), NEXT, max_tokens)
        lines = [line for line in chain.splitlines() if line.strip()]
        # a chain must be short, and end in a full stop (§4, released program)
        if not lines or len(lines) > max_lines or not chain.endswith("."):
            continue
        concluding = prompt(question, thoughts=(chain + SO,))
        reply = yield Generate(concluding, LINE, answer_tokens)
        answer = reply.removesuffix(".")
        if answer:  # the chain on one line, then its answer (released program)
            whole = (*chain.split(), f"The answer is {answer}.")
            return [prompt(question, thoughts=whole).text]
    return []  # a cluster without an example (released program)
