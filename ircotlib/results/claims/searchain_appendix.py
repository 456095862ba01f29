"""The claims of SearChain's appendix that runs can test, and the values that they compare."""

from functools import partial
from itertools import pairwise

from ircotlib.results.claims.claim import Claim, Values, over
from ircotlib.results.claims.searchain import OF_HOPS, Measured, printed, scores
from ircotlib.results.searchain_measures import KNEW
from ircotlib.results.tables import ALPHAS, ONE_RETRIEVAL, WITH_RETRIEVAL, holds_answers, run_with


def knowledge(m: Measured) -> Values:
    """Whether MuSiQue's questions are answered right, in percent, of four kinds of sides:

    - "last 2 by heart": the model knows the last two facts and was told the others (Figure 10a);
    - "knowledge in the prompt" and "sub-questions alone": the mean of a question over all numbers
      of facts by heart but all, in the one panel of Figure 10 and in the other;
    - "LLM": the question as it is, if the model knows all its parts (Table 7);
    - "their parts": these parts, which are all right.
    """
    by_i = m.forms[m.forms["panel"] == "a"].set_index("id").groupby("i")["right"]
    sides = {f"last {i} by heart": 100.0 * right for i, right in by_i}
    some = m.forms[m.forms["i"] < m.forms["hops"]].set_index(["id", "i", "panel"])["right"]
    both = some.astype(float).unstack().dropna().groupby("id").mean()  # the i of one are no sample
    panels = {"a": "knowledge in the prompt", "b": "sub-questions alone"}
    sides |= {panels[name]: 100 * right for name, right in both.items()}
    known = m.forms.loc[m.forms["panel"] == "b", "id"].unique()  # asked where all parts are known
    sides["LLM"] = 100.0 * m.asked["right"][known]
    return m.at({"musique": sides | {"their parts": sides["LLM"] * 0 + 100}})


APPENDIX = {}
APPENDIX["A.2.1"] = {
    "Table 7: who knows all parts of a question cannot always compose them": Claim(
        over("their parts", "LLM"),
        knowledge,
        printed("Table 7", base=100.0, scale=lambda share: 100 * share, wording=OF_HOPS),
        "right: their parts > questions whose parts are known",
        settled={"their parts": "cannot fail: the parts are all right, as questions are chosen"},
    ),
    "Figure 10(a): the more parts must be known by heart, the worse": Claim(
        list(pairwise(f"last {i} by heart" for i in range(1, 5))), knowledge
    ),
    "Figure 10: knowledge in the prompt is used better": Claim(
        over("knowledge in the prompt", "sub-questions alone"),
        knowledge,
        note="on the questions that both panels of the figure have",
    ),
}


def where_model_is(m: Measured, right: bool) -> Values:
    """Whether answers with and without retrieval are right, where the model alone is or is not."""
    by_dataset = {}
    for dataset in filter(holds_answers, run_with(m.runs, KNEW, ONE_RETRIEVAL)):
        alone = m.runs[dataset, KNEW]["right"]
        with_ir = m.runs[dataset, ONE_RETRIEVAL]["right"]
        sides = {"LLM": 100.0 * alone, "LLM w/ IR": 100.0 * with_ir}
        by_dataset[dataset] = {name: side[alone == right] for name, side in sides.items()}
    return m.at(by_dataset)


APPENDIX["A.2.2"] = {
    "Table 8: IR misleads a model that is right": Claim(
        over("LLM", "LLM w/ IR"),
        partial(where_model_is, right=True),
        printed("Table 8", {"metric": "accuracy_where_llm_right"}),
        "{} > {} where the model is right",
        settled={"LLM": "cannot fail: the model alone is always right, as questions are chosen"},
    ),
    "Table 8: IR helps a model that is wrong": Claim(
        over("LLM w/ IR", "LLM"),
        partial(where_model_is, right=False),
        printed("Table 8", {"metric": "accuracy_where_llm_wrong"}),
        "{} > {} where the model is wrong",
        settled={"LLM": "cannot fail: the model alone is always wrong, as questions are chosen"},
    ),
}


def thresholds(m: Measured) -> Values:
    runs = ((alpha, run) for alpha, tables in m.thresholds.items() for run in tables)
    by_threshold = {ALPHAS[alpha]: 100 * run.set_index("id")["rouge_l"] for alpha, run in runs}
    return m.at({"eli5": by_threshold}, "rouge_l")


MIDDLE = ALPHAS[0.35]
OTHERS = [name for name in ALPHAS.values() if name != MIDDLE]
APPENDIX["A.3"] = {
    "Table 9: SearChain is better than DSP with another model": Claim(
        over(WITH_RETRIEVAL, "DSP"), partial(scores, name="second"), printed("Table 9")
    ),
}
APPENDIX["A.4.1"] = {
    "Table 10: the ROUGE threshold hardly matters": Claim(
        [pair for other in OTHERS for pair in ((MIDDLE, other), (other, MIDDLE))],
        thresholds,
        printed("Table 10"),
        "{} less than 1 point below {}",  # the point is ours
        margin=1.0,
    ),
}
