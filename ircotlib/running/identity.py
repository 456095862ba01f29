"""The parameters that distinguish runs."""

from ircotlib.parameters import EQUAL, MAIN, SIMULATED, Parameters

IDENTITY = "data_dir corpus retriever dev test seed model dtype style reader demonstrations".split()
IDENTITY += "context_tokens most_demonstrations wrong_answers released max_steps".split()
IDENTITY += "extractor duplicates distractors scale_distractors ood_distractors".split()


def identity(p: Parameters, shown: str | None = None, grid_of: str = MAIN) -> dict:
    """All parameters that decide the outcome of a bench's runs, including grids."""
    named = {name: getattr(p, name) for name in IDENTITY} | (p.model_extra or {})
    named |= {"server": "chat" if p.chat else "completions"} if p.server else {}
    named |= {name: v for name in ("samples", "further_paragraphs") if (v := getattr(p, name))}
    named |= {"dials": p.dials} if SIMULATED in named.values() else {}
    named |= {"equal_k": p.equal_k} if grid_of == EQUAL else {}
    return named | {"shown": shown, "grid_of": grid_of}
