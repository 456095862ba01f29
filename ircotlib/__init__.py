"""Multi-step question answering with retrieval: IRCoT, SearChain and their baselines, all on the
same models and the same retriever.

    from ircotlib import ask, read_parameters
    print(*ask(read_parameters("mini"), "Who founded the Foreign Quarry label?"), sep="\\n\\n")

This is the front door: what notebooks, docs and programs of one's own use. A name is looked up in
its module when it is first used (PEP 562), so that `import ircotlib` imports nothing else.
"""

from importlib import import_module

_NAMES = {  # by module
    # records
    "data": "Paragraph Question Demonstration Prediction",
    # requests
    "program": "Retrieve NearestTitle Extract Duplicate Generate Sample Program Outcome Step",
    # systems and data sets
    "systems": "System all_systems choose_systems ANSWER RECALL IRCOT SEARCHAIN",
    "datasets": "Dataset all_datasets find_dataset",
    "datasets.files": "read_dataset",
    "datasets.own": "write_own",
    "metrics": "exact_match cover_em squad_f1",
    "retrieval": "retriever_name",
    # settings
    "parameters": "Parameters read_parameters SCALE OOD",
    # running
    "running.bench": "Bench name_bench name_benches open_bench open_benches",
    "running.backends": "change_model",
    "running.experiment": "answer answer_all replay",
    "running.run": "Run name_model read_about",
    "running.predictions": "read_predictions",
    # comparing
    "comparing.comparison": ("Comparison compare_systems tune run_system run_all join_scores"),
    # looking at questions
    "explore.ask": "ask find_systems own_question",
    "explore.trace": "answer_as_markdown question_as_markdown trace_as_markdown",
    "explore.box": "ask_box explore_box",
    "explore.questions": "show_question find_folders list_runs compare_runs choose_questions",
    "results.causes": "find_causes count_causes",
    # results
    "results.runs": (
        "find_runs read_runs find_test_runs has_runs with_runs read_costs count_parsed PARSED "
        "name_edges list_nodes line_up read_training"
    ),
    "results.reported": "read_reported with_reported",
    "results.statistics": "summarise describe describe_shown paired_difference per_question",
    "results.claims.comparing": "compare",
    "results.claims.judging": "judge_claims",
    "results.markdown": "save_table as_markdown as_wide_markdown",
    "results.cases": "find_cases",
    "results.abilities.map": "map_systems",
    "results.abilities.readers": "read_readers",
    "results.abilities.parts": "weigh_parts",
    "results.abilities.plays": "describe_plays",
    "results.abilities.ceilings": "play_ceilings play_settings",
    "results.abilities.dials": "play_dials",
    "results.abilities.retrieval": "play_retrieval",
    "running.laboratory": "find_facts explain_dials in_world expect_laboratory",
    # figures
    "results.figures.panels": "save_figure",
    "results.figures.bars": (
        "draw_with_reported draw_by_dataset draw_by_demonstrations draw_causes draw_factual_errors"
    ),
    "results.figures.points": (
        "draw_recall draw_tuning draw_by_size draw_front draw_forms draw_training draw_predicted"
    ),
    "results.abilities.fit": "predict_agent compare_predictions ONE BY_STAGE CLASS_MEAN",
    "results.figures.abilities": "draw_ceilings draw_settings draw_abilities",
    "results.figures.tree": "draw_tree",
    "results.figures.maps": "draw_map draw_parts",
    # judging by hand
    "annotate.box": "annotate_box references_box",
    # errors
    "errors": "UserError DataError Unavailable NothingToRun",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
