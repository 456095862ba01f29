"""The numbers of docs/gold.md and 16_real_text."""

from docs.pages import THREE, as_table, read
from ircotlib.datasets import find_dataset


def gold() -> dict:
    """What can be found on real text, and in the laboratory."""
    found = {
        name: read(f"{name}_found").set_index(["dataset", "method"]) for name in ("sample", "mini")
    }
    real, lab = found["sample"], found["mini"]
    by_k = read("sample_found_by_k").set_index(["dataset", "wording", "system", "k"])["mean"]
    kept = read("sample_found_kept").set_index(["dataset", "method"])["mean"]
    steps = read("sample_found_steps").set_index(["dataset", "hops", "system", "step"])["mean"]
    pairs = read("sample_found_compared").set_index(["dataset", "method", "other"])
    rows = []
    for method in dict.fromkeys(real.index.get_level_values("method")):
        row = [method]
        for dataset in THREE:
            row.append("–")
            if (dataset, method) in real.index:
                one = real.loc[dataset, method]
                interval = f"{one['mean']:.1f} ({one['low']:.0f} to {one['high']:.0f})"
                row[-1] = f"{interval}; {one['paragraphs']:.1f}, {one['retrievals']:.1f}"
        rows.append(row)
    wording = [
        by_k["musique", w, s, k]
        for s in ("IRCoT", "SearChain")
        for w in ("natural", "relations")
        for k in (1, 4, 8)
    ]
    decided = [pairs.loc["musique", "IRCoT", other] for other in ("SearChain", "DecomP")]
    return {
        "found": as_table(["", *(find_dataset(name).title for name in THREE)], rows),
        "found sizes": [int(real.loc[name, "IRCoT"]["n"]) for name in THREE],
        "found briefly": _shares(
            real["mean"]["musique", "IRCoT"],
            real["mean"]["musique", "SearChain"],
            by_k["musique", "all", "SearChain", 3],
            by_k["musique", "all", "SearChain", 8],
            real["mean"]["musique", "OneR"],
        ),
        "found in the laboratory": _shares(
            *(
                table["mean"]["musique", name]
                for name in ("SearChain", "IRCoT")
                for table in (lab, real)
            )
        ),
        "found kept": _shares(
            *(
                kept[d, f"K = 8, at most {n} paragraphs"]
                for d in ("musique", "2wikimultihopqa")
                for n in (15, 30)
            )
        ),
        "found sooner": _shares(
            *(kept["musique", f"K = 4, ends at sentence {n}"] for n in (3, 2, 1))
        ),
        "found by wording": _shares(*wording),
        "found pairs": [
            int(pair[name]) for pair in decided for name in ("only first", "only second")
        ],
        **_by_retriever(),
        "found steps": _shares(*(steps["musique", 3, "DSP", n] for n in (1, 2, 3))),
    }


def _by_retriever() -> dict:
    """What systems find with each retriever, in the smaller and in the larger corpus."""
    table = read("sample_found_by_retriever")
    table["retriever"] = table["retriever"].str.partition(":")[0]
    alone = table.sort_values("searched").drop_duplicates(["dataset", "retriever", "system"])
    alone = alone.set_index(["dataset", "retriever", "system"])["mean"]
    titles = read("sample_found_by_namesake").query("retriever == 'BM25'")
    titles = titles.sort_values("searched").set_index(["dataset", "system", "namesake"])
    datasets = list(dict.fromkeys(table["dataset"]))
    rows = []
    for system in dict.fromkeys(table["system"]):
        for retriever in dict.fromkeys(table["retriever"]):
            row = [f"{system}, {retriever}"]
            for dataset in datasets:
                which = "dataset == @dataset and retriever == @retriever and system == @system"
                means = table.query(which).sort_values("searched")["mean"]
                row.append(" → ".join(_shares(*means)) or "–")
            rows.append(row)
    return {
        "found by retriever": as_table(["", *(find_dataset(d).title for d in datasets)], rows),
        "found dense": _shares(
            *(alone["musique", name, "OneR"] for name in ("dense", "BM25")),
            alone["musique", :, "SearChain"].max(),
            *(alone["2wikimultihopqa", name, "SearChain"] for name in ("dense", "BM25")),
            *(alone["2wikimultihopqa", name, "IRCoT"] for name in ("dense", "BM25")),
        ),
        "found namesakes": [
            int(titles.loc["2wikimultihopqa", "SearChain", True]["n"].iloc[0]),
            *_shares(*titles.loc["2wikimultihopqa", "SearChain", True]["mean"]),
            *_shares(*titles.loc["2wikimultihopqa", "SearChain", False]["mean"]),
            int(titles.loc["musique", "IRCoT", True]["n"].iloc[0]),
            *_shares(*titles.loc["musique", "IRCoT", True]["mean"]),
            *_shares(*titles.loc["musique", "IRCoT", False]["mean"]),
        ],
    }


def _shares(*shares: float) -> list[str]:
    return [f"{share:.1f}" for share in shares]
