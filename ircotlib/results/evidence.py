"""The values of our runs that the papers' claims are about, by the names that the claims use."""

from collections.abc import Callable, Mapping

import pandas as pd

from ircotlib.parameters import OOD, SCALE, Parameters
from ircotlib.prompting.prompt import GPT3
from ircotlib.results.claims import AGAINST, Values, values_of
from ircotlib.results.head_to_head import measures_of
from ircotlib.results.measures import KNEW, count_steps, is_helped
from ircotlib.results.reported import read_reported
from ircotlib.results.runs import read_runs
from ircotlib.running.setup import runs_folder


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


def ircot_values(runs: Mapping[str, pd.DataFrame]) -> dict[str, Values]:
    """What IRCoT's claims are about, from the runs that `read_ircot` reads, by name."""
    tables, style = dict(runs), runs["scores"]["style"].iloc[0]
    if "sizes" in runs:
        sizes = runs["sizes"]
        models = sizes[sizes["style"] == style]["model"].unique()  # from small to large
        smallest = models[0] if len(models) > 1 else None
        tables["sizes but the smallest"] = sizes[sizes["model"] != smallest]
        if len(models) > 1:
            small, large = (sizes[sizes["model"] == model] for model in models[-2:])
            ours, others = small["system"] == "IRCoT QA", large["system"] != "IRCoT QA"
            two = pd.concat([small[ours], large[others]])
            tables["two sizes"] = two.assign(model=AGAINST.join(models[-2:]))
    other = tables.pop("other reader", None)
    values = {name: values_of(table) for name, table in tables.items()}
    if other is not None:
        values[f"other reader: {other['reader'].iloc[0]}"] = values_of(other)
        model = "GPT3" if style == GPT3.name else "Flan-T5-XXL"
        for system, table in pd.concat([runs["scores"], other]).groupby("system"):
            name = f"readers of {system}, prompted as {model}"
            values[name] = values_of(table, side="reader")
    return values


def searchain_values(
    scores: pd.DataFrame,
    runs: Mapping[tuple[str, str], pd.DataFrame],
    forms: pd.DataFrame,
    second: pd.DataFrame,
) -> dict[str, Values]:
    """What SearChain's claims are about: the `scores` of all systems by the first measure of each
    data set, those of a `second` model, if any, and what is measured on `runs`, from
    `measures.read_all_runs`, and `forms`, from `knowledge.compare_forms`.
    """
    model, known, helped, steps = scores["model"].iloc[0], {}, {}, {}
    for dataset in read_reported("searchain", source="Table 3(a)")["dataset"].unique():
        place = (dataset, model, dataset)
        systems = {name: run for (of, name), run in runs.items() if of == dataset}
        if "SearChain" in systems and KNEW in systems and systems[KNEW]["right"].any():
            knew = systems[KNEW]["right"]
            known[place] = _of_each(systems, lambda run: 100.0 * run["right"][knew])
        if "SearChain" in systems and (where := is_helped(systems["SearChain"])).any():
            helped[place] = _of_each(systems, lambda run: 100 * run["score"][where])
        if dataset == "musique":
            steps[place] = _of_each(systems, count_steps)
    parts = forms[forms["i"] < forms["hops"]].set_index(["id", "i"])  # the prompt has some
    panels = {"a": "knowledge in the prompt", "b": "sub-questions alone"}
    panels = {panels[name]: rows for name, rows in parts.groupby("panel")}
    sides = _of_each(panels, lambda rows: 100.0 * rows["right"])
    values = {"right where the model knows": known, "scores where IR helps": helped}
    values |= {"steps": steps, "forms": {("musique", model, "musique"): sides}}
    for name, table in (("scores", scores), ("second model", second)):
        if len(table):
            first = table["dataset"].map(lambda dataset: measures_of(dataset)[0])
            values[name] = values_of(table.assign(metric=first))
    return values


def _of_each(systems: Mapping[str, pd.DataFrame], measure: Callable) -> dict[str, pd.Series]:
    """What is measured on each table; of no metric, unlike scores."""
    return {name: measure(run).rename(None) for name, run in systems.items()}
