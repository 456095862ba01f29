"""The claims of IRCoT's paper that runs can test, by section, and the values that they compare."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from ircotlib.annotate.factuality import list_judged, read_items
from ircotlib.experiment.compare import join_scores
from ircotlib.experiment.laboratory import find_facts
from ircotlib.experiment.runs import name_model
from ircotlib.experiment.setup import change_model, runs_folder
from ircotlib.parameters import OOD, SCALE, Parameters
from ircotlib.prompting.prompt import GPT3
from ircotlib.results.claims.claim import PLACE, Claim, Printed, Values, over, values_of
from ircotlib.results.head_to_head import EXPERIMENT, panels_of
from ircotlib.results.reported import ALL, KINDS, read_reported
from ircotlib.results.runs import read_runs

Runs = Mapping[str, pd.DataFrame]  # by name, from `read_ircot`; what was not run is empty
AGAINST = " against "  # between the names of two models
READERS = {"Flan-T5-XXL": "direct", "GPT3": "cot"}  # the better ones, those of §5 (App. E)


def read_ircot(p: Parameters) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Read what IRCoT's claims are about. Only the runs of 04_ircot with the reader of `p` must
    exist; for others that are missing, the list has the commands that make them.
    """
    systems = partial(read_runs, experiment="04_ircot")
    runs, left_out = {"scores": systems(p)}, []
    three = [name for name in p.datasets if name != "iirc"]  # as in the paper
    for name, read, datasets in (
        ("sizes", _read_sizes, three),
        ("other demonstrations", _read_other_demonstrations, three),
        ("other reader", lambda p: systems(p.other_reader()), p.datasets),
        ("second model", lambda p: join_scores([*map(systems, _models(p)[1:])]), p.datasets),
        ("chains", _read_chains, p.datasets),
        ("published systems", _read_published, three),
    ):
        runs[name] = runs["scores"][:0]
        try:
            if datasets:
                runs[name] = read(p.change(datasets=datasets))
        except FileNotFoundError as error:
            left_out.append(str(error))
    return runs, left_out


def _read_sizes(p: Parameters) -> pd.DataFrame:
    """The runs of 06_scale, of each model in whichever style it was prompted."""
    tables = []
    options = {"experiment": "06_scale", "grid_of": SCALE}
    for name in p.models:
        styles = [p.change(model=name), p.change(model=name, style=GPT3.name)]
        made = [of_style for of_style in styles if runs_folder(of_style, **options).is_dir()]
        tables.append(read_runs((made or styles)[0], **options))
    return pd.concat(tables, ignore_index=True)


def _read_other_demonstrations(p: Parameters) -> pd.DataFrame:
    benches = product(_models(p.out_of_distribution()), p.datasets)
    runs = pd.concat([read_runs(one, "07_ood", shown=d, grid_of=OOD) for one, d in benches])
    return runs[runs["dataset"] != runs["demonstrations"]]


def _models(p: Parameters) -> list[Parameters]:
    """With the model, and with the one in GPT3's place, if there is one (§4.1)."""
    return [change_model(p, name) for name in (p.model, p.gpt3) if name]


def _read_chains(p: Parameters) -> pd.DataFrame:
    """Whether each chain of a reader that writes some is without factual errors, as the judge of
    the laboratory sees it; no rows where no facts are known.
    """
    facts = {dataset: find_facts(p, dataset) for dataset in p.datasets}
    tables = []
    for one in _models(p if p.reader == "cot" else p.other_reader()):
        items = [item for item in read_items(one) if facts[item.dataset]]
        judged = {
            (item.id, n): facts[item.dataset].judge(item.sentences[n], item.question)
            for item in items
            for n in range(item.facts)
        }
        tables.append(list_judged(items, judged).assign(model=name_model(one)))
    chains = pd.concat(tables, ignore_index=True)
    return chains.assign(demonstrations=chains["dataset"])


def _read_published(p: Parameters) -> pd.DataFrame:
    """The head to head, by the measures and on the questions of which IRCoT's Table 1 prints a
    number of a system. A side is a system and a measure, such as "DecomP: f1".
    """
    runs = read_runs(panels_of(p)[0].change(datasets=p.datasets), EXPERIMENT)
    tables = []
    for row in read_reported(source="Table 1").itertuples():
        dataset, kind = KINDS.get(row.dataset, (row.dataset, ALL))
        of_system = runs[(runs["dataset"] == dataset) & (runs["system"] == row.name)]
        of_kind = of_system[(of_system["kind"] == kind) | (kind == ALL)]
        side = f"{row.name}: {row.metric}"
        tables.append(of_kind.assign(system=side, dataset=row.dataset, metric=row.metric))
    return pd.concat(tables)


def scores(runs: Runs, name: str = "scores") -> Values:
    return values_of(runs[name])


def two_models(runs: Runs) -> Values:
    return values_of(pd.concat([runs["scores"], runs["second model"]]))


def other_demonstrations_shown(runs: Runs) -> Mapping[tuple[str, ...], float]:
    table = runs["other demonstrations"].dropna(subset="demonstrations_shown")
    return table.groupby([*PLACE, "system"])["demonstrations_shown"].mean().to_dict()


def sizes_but_the_smallest(runs: Runs) -> Values:
    sizes = runs["sizes"]
    return values_of(sizes[~sizes["model"].isin(_by_size(runs)[:-1][:1])])


def two_sizes(runs: Runs) -> Values:
    """IRCoT QA with the largest model but one, the other systems with the largest."""
    models = _by_size(runs)[-2:]
    sizes = runs["sizes"]
    if len(models) < 2:
        return {}
    model = sizes["system"].eq("IRCoT QA").map({True: models[0], False: models[1]})
    return values_of(sizes[sizes["model"] == model].assign(model=AGAINST.join(models)))


def largest_and_smallest(runs: Runs) -> Values:
    """The recall of IRCoT with the largest model of a style and with the smallest."""
    models = _by_size(runs)
    ends = dict(zip((*models[-1:], *models[:1]), ("largest model", "smallest model")))
    recall = runs["sizes"].query("system == 'IRCoT'")
    recall = recall.assign(system=recall["model"].map(ends), model=AGAINST.join(ends))
    return values_of(recall)


def _by_size(runs: Runs) -> np.ndarray:
    """The models of the style of 04_ircot, from small to large."""
    sizes = runs["sizes"]
    style = runs["scores"]["style"].iloc[0]
    return sizes[sizes["style"] == style]["model"].unique()


def other_reader(runs: Runs, reader: str) -> Values:
    """The scores of the reader that is not the profile's, if it is this one."""
    return values_of(runs["other reader"].query("reader == @reader"))


def readers(runs: Runs, model: str) -> Values:
    """The scores of both readers, as sides, if ours is prompted as this model of the paper."""
    both = pd.concat([runs["scores"], runs["other reader"]])
    both = both[(both["style"] == GPT3.name) == (model == "GPT3")]
    return values_of(both.assign(system=both["system"] + ": " + both["reader"]))


sizes = partial(scores, name="sizes")
chains = partial(scores, name="chains")
published = partial(scores, name="published systems")
other_demonstrations = partial(scores, name="other demonstrations")
SYSTEMS = ("NoR QA", "OneR QA", "IRCoT QA")
FINDS = over("IRCoT", "OneR")
ANSWERS = over("IRCoT QA", "OneR QA", "NoR QA")
ORDER = [("IRCoT QA", "OneR QA"), ("OneR QA", "NoR QA")]
OF_MODELS = "{:+.1f} with {}"
TABLE_1 = Printed("ircot", "Table 1", side="measured", of_each="metric", wording="{:+.1f}")
TABLE_4 = Printed("ircot", "Table 4", readers=READERS, wording=OF_MODELS)
NEED = "says little if the models need no demonstrations, which 07_ood measures"
IRCOT = {}
IRCOT["§5"] = {
    "Figure 3: IRCoT finds more than OneR": Claim(
        FINDS,
        two_models,
        Printed("ircot", "§5 text", {"metric": "recall_gain"}, base=0.0, wording=OF_MODELS),
    ),
    "Figure 4: IRCoT QA answers better than OneR QA and NoR QA": Claim(
        ANSWERS, two_models, TABLE_4
    ),
    "Figure 5: IRCoT finds more than OneR, with other demonstrations": Claim(
        FINDS, other_demonstrations, note=NEED, shown=other_demonstrations_shown
    ),
    "Figure 6: IRCoT QA answers better, with other demonstrations": Claim(
        ANSWERS, other_demonstrations, note=NEED, shown=other_demonstrations_shown
    ),
    "Figure 7: factual errors: IRCoT QA < OneR QA < NoR QA": Claim(
        ORDER,
        chains,
        Printed(
            "ircot",
            "§5 text",
            {"metric": "factual_error_reduction"},
            base=0.0,
            wording="{:.0f}% fewer with an error, {}",
        ),
        "chains without an error: {} > {}",
    ),
    "Figure 8: IRCoT finds more than OneR, whatever the model": Claim(FINDS, sizes),
    "Figure 8: the gain grows with the model": Claim(
        over("largest model", "smallest model"),
        largest_and_smallest,
        comparison="recall of IRCoT: {} > {}",
        note="of the shipped models, size and training together",
    ),
    "Figure 9: IRCoT QA answers better than OneR QA, whatever the model but the smallest": Claim(
        over("IRCoT QA", "OneR QA"), sizes_but_the_smallest
    ),
    "Figure 9: IRCoT QA answers better than OneR QA and NoR QA with a larger model": Claim(
        ANSWERS, two_sizes, note="the paper's larger model is 58 times as large"
    ),
    "Table 1: IRCoT QA answers better than published systems": Claim(
        # "ReAct" there has the number of ReAct -> CoT-SC in ReAct's own paper
        over("IRCoT QA: em", "InterAug: em", "Recite-and-answer: em", "ReAct -> CoT-SC: em")
        + over("IRCoT QA: em", "Self-Ask: em")
        + over("IRCoT QA: f1", "Recite-and-answer: f1", "DecomP: f1"),
        published,
        TABLE_1,
    ),
}
IRCOT["App. E"] = {
    "Table 4: OneR QA answers better than NoR QA": Claim(ORDER[1:], scores, TABLE_4),
    **{
        f"Table 4: IRCoT QA > OneR QA > NoR QA, also with the {reader} reader": Claim(
            ORDER,
            partial(other_reader, reader=reader),
            replace(TABLE_4, readers=dict.fromkeys(READERS, reader)),
        )
        for reader in READERS.values()
    },
    **{
        f"Table 4: {model} answers better with the {better} reader": Claim(
            [(f"{name}: {better}", f"{name}: {worse}") for name in SYSTEMS],
            partial(readers, model=model),
            Printed("ircot", "Table 4", {"model": model}, side="reading", wording=OF_MODELS),
            note="decided by which reader the shipped models were taught to use well",
        )
        for (model, better), worse in zip(READERS.items(), ("cot", "direct"), strict=True)
    },
}
IRCOT["App. F"] = {
    "Table 6: IRCoT QA answers better with a separate reader": Claim(
        over("IRCoT QA", "IRCoT QA w/o reader"), scores, replace(TABLE_4, source="Table 6")
    ),
}
