"""The claims of IRCoT's paper that runs can test."""

from functools import partial

from ircotlib.results.claims.record import Claim, over

READERS = {"Flan-T5-XXL": "direct", "GPT3": "cot"}  # the better ones, those of §5 (App. E)
SYSTEMS = ("NoR QA", "OneR QA", "IRCoT QA")
ORDER = (("IRCoT QA", "OneR QA"), ("OneR QA", "NoR QA"))
BOTH = over("IRCoT QA", "OneR QA", "NoR QA")
PUBLISHED = ("InterAug", "Recite-and-answer", "ReAct", "Self-Ask", "DecomP")
OF_MODELS = "{:+.1f} with {}"  # how a difference of IRCoT's models is worded
TABLE_4, TABLE_6, GAINS, FEWER_ERRORS = (
    {"paper": "ircot", "source": source, **metric}
    for source, metric in (
        ("Table 4", {}),
        ("Table 6", {}),
        ("§5 text", {"metric": "recall_gain"}),
        ("§5 text", {"metric": "factual_error_reduction"}),
    )
)
_section_5 = partial(Claim, "§5")
_appendix_e = partial(Claim, "App. E", "Table 4", printed=TABLE_4, wording=OF_MODELS)
IRCOT = [
    _section_5(
        *("Figure 3", "IRCoT finds more than OneR", over("IRCoT", "OneR")),
        printed=GAINS,
        base=0.0,
        wording=OF_MODELS,
    ),
    _section_5(
        *("Figure 4", "IRCoT QA answers better than OneR QA and NoR QA", BOTH),
        printed=TABLE_4,
        readers=READERS,
        wording=OF_MODELS,
    ),
    _section_5(
        *(
            "Figure 5",
            "IRCoT finds more than OneR, with other demonstrations",
            over("IRCoT", "OneR"),
        ),
        values="other demonstrations",
    ),
    _section_5(
        *("Figure 6", "IRCoT QA answers better, with other demonstrations", BOTH),
        values="other demonstrations",
    ),
    _section_5(
        *("Figure 7", "factual errors: IRCoT QA < OneR QA < NoR QA", ORDER),
        values="chains",
        comparison="chains without an error: {} > {}",
        printed=FEWER_ERRORS,
        base=0.0,
        wording="{:.0f}% fewer with an error, {}",
    ),
    _section_5(
        *("Figure 8", "IRCoT finds more than OneR, whatever the model", over("IRCoT", "OneR")),
        values="sizes",
    ),
    _section_5(
        *("Figure 8", "the gain grows with the model", over("largest model", "smallest model")),
        values="smallest and largest",
        comparison="recall of IRCoT: {} > {}",
    ),
    _section_5(
        "Figure 9",
        "IRCoT QA answers better than OneR QA, whatever the model but the smallest",
        over("IRCoT QA", "OneR QA"),
        values="sizes but the smallest",
    ),
    _section_5(
        *("Figure 9", "IRCoT QA answers better than OneR QA and NoR QA with a larger model", BOTH),
        values="two sizes",
    ),
    _section_5(
        *(
            "Table 1",
            "IRCoT QA answers better than published systems",
            over("IRCoT QA", *PUBLISHED),
        ),
        values="published systems",
        printed={"paper": "ircot", "source": "Table 1"},
        of_each="metric",
        wording="{:+.1f} {}",
    ),
    _appendix_e("OneR QA answers better than NoR QA", over("OneR QA", "NoR QA"), readers=READERS),
    *(
        _appendix_e(
            f"IRCoT QA > OneR QA > NoR QA, also with the {reader} reader",
            ORDER,
            f"other reader: {reader}",
            readers=dict.fromkeys(READERS, reader),
        )
        for reader in READERS.values()
    ),
    *(
        _appendix_e(
            f"{model} answers better with the {better} reader",
            [(f"{system}: {better}", f"{system}: {worse}") for system in SYSTEMS],
            f"readers, prompted as {model}",
            printed=TABLE_4 | {"model": model},
            side="reading",
        )
        for model, better, worse in (("Flan-T5-XXL", "direct", "cot"), ("GPT3", "cot", "direct"))
    ),
    Claim(
        "App. F",
        "Table 6",
        "IRCoT QA answers better with a separate reader",
        over("IRCoT QA", "IRCoT QA w/o reader"),
        printed=TABLE_6,
        readers=READERS,
        wording=OF_MODELS,
    ),
]
