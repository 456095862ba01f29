"""Multi-step question answering with retrieval: IRCoT, SearChain and their baselines, all on the
same models and the same retriever.

    from ircotlib import ask, read_parameters
    print(*ask(read_parameters("mini"), "Who founded the Foreign Quarry label?"), sep="\\n\\n")

This is the front door: what notebooks, docs and programs of one's own use. A name is looked up in
its module when it is first used (PEP 562), so that `import ircotlib` imports nothing else.
"""

from importlib import import_module

_MODULES = {  # of each name
    # records
    "Paragraph": "data",
    "Question": "data",
    "Demonstration": "data",
    "Prediction": "data",
    # requests
    "Retrieve": "program",
    "NearestTitle": "program",
    "Extract": "program",
    "Duplicate": "program",
    "Generate": "program",
    "Sample": "program",
    "Program": "program",
    "Outcome": "program",
    "Step": "program",
    # systems and data sets
    "System": "systems",
    "all_systems": "systems",
    "choose_systems": "systems",
    "ANSWER": "systems",
    "RECALL": "systems",
    "IRCOT": "systems",
    "SEARCHAIN": "systems",
    "Dataset": "datasets",
    "all_datasets": "datasets",
    "find_dataset": "datasets",
    "read_dataset": "datasets.files",
    "write_own": "datasets.own",
    "exact_match": "metrics",
    "cover_em": "metrics",
    "squad_f1": "metrics",
    "retriever_name": "retrieval",
    # settings
    "Parameters": "parameters",
    "read_parameters": "parameters",
    "SCALE": "parameters",
    "OOD": "parameters",
    # running
    "Bench": "running.setup",
    "open_bench": "running.setup",
    "open_benches": "running.setup",
    "change_model": "running.setup",
    "answer": "running.experiment",
    "answer_all": "running.experiment",
    "run_system": "running.experiment",
    "tune": "running.experiment",
    "compare_systems": "running.experiment",
    "replay": "running.experiment",
    "read_about": "running.folder",
    "run_folder": "running.folder",
    "read_predictions": "running.predictions",
    # looking at questions
    "ask": "explore.ask",
    "find_systems": "explore.ask",
    "own_question": "explore.ask",
    "answer_as_markdown": "explore.trace",
    "question_as_markdown": "explore.trace",
    "trace_as_markdown": "explore.trace",
    "ask_box": "explore.box",
    "explore_box": "explore.box",
    "show_question": "explore.questions",
    "find_causes": "results.causes",
    "count_causes": "results.causes",
    "find_folders": "explore.questions",
    "list_runs": "explore.questions",
    "compare_runs": "explore.questions",
    "choose_questions": "explore.questions",
    # results
    "find_runs": "results.runs",
    "read_runs": "results.runs",
    "read_reported": "results.reported",
    "summarise": "results.statistics",
    "describe": "results.statistics",
    "compare": "results.claims",
    "save_table": "results.markdown",
    "find_test_runs": "results.runs",
    "has_runs": "results.runs",
    "read_costs": "results.runs",
    "count_parsed": "results.runs",
    "name_edges": "results.runs",
    "list_nodes": "results.runs",
    "line_up": "results.runs",
    "read_training": "results.runs",
    "with_reported": "results.reported",
    "paired_difference": "results.statistics",
    "per_question": "results.statistics",
    "judge_claims": "results.claims",
    "compare_sizes": "results.claims",
    "find_cases": "results.cases",
    "as_wide_markdown": "results.markdown",
    "find_facts": "running.laboratory",
    # figures
    "save_figure": "results.figures.panels",
    "draw_with_reported": "results.figures.bars",
    "draw_by_dataset": "results.figures.bars",
    "draw_by_demonstrations": "results.figures.bars",
    "draw_causes": "results.figures.bars",
    "draw_factual_errors": "results.figures.bars",
    "draw_recall": "results.figures.points",
    "draw_tuning": "results.figures.points",
    "draw_by_size": "results.figures.points",
    "draw_front": "results.figures.points",
    "draw_forms": "results.figures.points",
    "draw_training": "results.figures.points",
    "draw_tree": "results.figures.tree",
    # judging by hand
    "annotate_box": "annotate.box",
    "references_box": "annotate.box",
    # errors
    "UserError": "errors",
    "DataError": "errors",
    "Unavailable": "errors",
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
