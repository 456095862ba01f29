"""What IRCoT's claims are about: values of our runs, by the names that the claims use."""

from collections.abc import Mapping

import pandas as pd

from ircotlib.parameters import OOD, SCALE, Parameters
from ircotlib.prompting.prompt import GPT3
from ircotlib.results.claims.comparing import AGAINST, Values, values_of
from ircotlib.results.factuality import list_judged, read_items
from ircotlib.results.head_to_head import EXPERIMENT, panels_of
from ircotlib.results.reported import read_reported
from ircotlib.results.runs import read_runs
from ircotlib.running.folder import name_model
from ircotlib.running.laboratory import find_facts
from ircotlib.running.setup import runs_folder

IRCOT_QA = "IRCoT QA"


def read_ircot(p: Parameters) -> tuple[dict[str, Values], list[str]]:
    """Read what IRCoT's claims are about. Only the runs of 04_ircot with the reader of `p` must
    exist; for others that are missing, the list has the commands that make them.
    """
    runs, left_out = {"scores": read_runs(p, "04_ircot")}, []
    three = [name for name in p.datasets if name != "iirc"]  # as in the paper
    for name, read, datasets in (
        ("sizes", _read_sizes, three),
        ("other demonstrations", _read_other_demonstrations, three),
        ("other reader", lambda p: read_runs(p.other_reader(), "04_ircot"), p.datasets),
        ("chains", _read_chains, p.datasets),
        ("published systems", _read_published, three),
    ):
        try:
            if datasets:
                runs[name] = read(p.change(datasets=datasets))
        except FileNotFoundError as error:
            left_out.append(str(error))
    return ircot_values(runs), left_out


def _read_sizes(p: Parameters) -> pd.DataFrame:
    """The runs of 06_scale, of each model in whichever style it was prompted."""
    tables, options = [], {"experiment": "06_scale", "grid_of": SCALE}
    for name in p.models:
        styles = [p.change(model=name), p.change(model=name, style=GPT3.name)]
        made = [of_style for of_style in styles if runs_folder(of_style, **options).is_dir()]
        tables.append(read_runs((made or styles)[0], **options))
    return pd.concat(tables, ignore_index=True)


def _read_other_demonstrations(p: Parameters) -> pd.DataFrame:
    p = p.out_of_distribution()
    runs = [read_runs(p, "07_ood", shown=dataset, grid_of=OOD) for dataset in p.datasets]
    runs = pd.concat(runs, ignore_index=True)
    return runs[runs["dataset"] != runs["demonstrations"]]


def _read_chains(p: Parameters) -> pd.DataFrame:
    """Whether each chain of a reader that writes some is without factual errors, as the judge of
    the laboratory sees it; no rows where no facts are known.
    """
    p = p if p.reader == "cot" else p.other_reader()
    facts = {dataset: find_facts(p, dataset) for dataset in p.datasets}
    items = [item for item in read_items(p) if facts[item.dataset]]
    judged = {
        (item.id, n): facts[item.dataset].judge(item.sentences[n], item.question)
        for item in items
        for n in range(item.facts)
    }
    chains = list_judged(items, judged).assign(metric="factual", model=name_model(p))
    return chains.assign(demonstrations=chains["dataset"])


def _read_published(p: Parameters) -> pd.DataFrame:
    """F1 of the head to head, of the systems that IRCoT's Table 1 has on a data set."""
    runs = read_runs(panels_of(p)[0].change(datasets=p.datasets), EXPERIMENT)
    table_1 = read_reported(source="Table 1")
    of = table_1["dataset"].str.partition("_")[0]
    printed = {*zip(of, table_1["name"], strict=True)}
    keys = zip(runs["dataset"], runs["system"], strict=True)
    return runs[[key in printed for key in keys]].assign(metric="f1")


def ircot_values(runs: Mapping[str, pd.DataFrame]) -> dict[str, Values]:
    """What IRCoT's claims are about, from the runs that `read_ircot` reads, by name."""
    tables, style = dict(runs), runs["scores"]["style"].iloc[0]
    values = {}
    if "sizes" in runs:
        sizes = runs["sizes"]
        models = sizes[sizes["style"] == style]["model"].unique()  # from small to large
        smallest = models[0] if len(models) > 1 else None
        tables["sizes but the smallest"] = sizes[sizes["model"] != smallest]
        if len(models) > 1:
            small, large = (sizes[sizes["model"] == model] for model in models[-2:])
            ours, others = small["system"] == IRCOT_QA, large["system"] != IRCOT_QA
            two = pd.concat([small[ours], large[others]])
            tables["two sizes"] = two.assign(model=AGAINST.join(models[-2:]))
            ends = models[[-1, 0]]
            recall = sizes[sizes["model"].isin(ends) & (sizes["system"] == "IRCoT")]
            which = recall["model"].map(dict(zip(ends, ("largest", "smallest"), strict=True)))
            recall = recall.assign(which=which + " model", model=AGAINST.join(ends))
            values["smallest and largest"] = values_of(recall, side="which")
    other = tables.pop("other reader", None)
    values |= {name: values_of(table) for name, table in tables.items()}
    if other is not None:
        values[f"other reader: {other['reader'].iloc[0]}"] = values_of(other)
        model = "GPT3" if style == GPT3.name else "Flan-T5-XXL"
        both = pd.concat([runs["scores"], other])
        both["reading"] = both["system"] + ": " + both["reader"]
        values[f"readers, prompted as {model}"] = values_of(both, side="reading")
    return values
