"""The dials of the simulated reader do what they say, in all systems."""

from dataclasses import asdict
from functools import cache

import pytest
from ircotlib.experiment.current import REPLAY
from ircotlib.results.abilities import simulation
from ircotlib.results.abilities.simulation import Simulation, simulate
from pandas import DataFrame
from simulating import NAMES, SETTINGS, P, play

from ircot_laboratory.questions.questions import ALL_DATASETS
from ircot_laboratory.simulated.dials import Dials
from ircotlib.datasets.scoring import score
from ircotlib.experiment.setup import open_dataset
from ircotlib.program import Generate, Sample
from ircotlib.results import kept_plays

MIDDLING = {"knows": 0.4, "misreads": 0.1}
BETTER = {"knows": 1.0, "confirms": 1.0}  # the best of each dial; of others 0
BETTER |= dict.fromkeys(("misreads", "distracted", "misplans", "wanders", "breaks_form"), 0.0)
BETTER |= dict.fromkeys(("misvotes", "extractor_misreads"), 0.0)
# those that never retrieve
CLOSED = ["NoR QA", "Direct Prompting", "Auto-CoT", "CoT", "CoT-SC", "Recite-and-answer"]
CLOSED += ["Self-Ask w/o IR", "Least-to-Most", "Plan-and-Solve", "SearChain w/o IR"]


@pytest.fixture(autouse=True)
def replayed(tmp_path, monkeypatch):
    """All is played, also what is kept."""
    monkeypatch.setattr(kept_plays, "DATA", tmp_path)
    monkeypatch.setenv(REPLAY, "1")


@cache
def score_all(dataset: str, questions: int, **dials: float) -> dict[str, list[tuple]]:
    """Each system's cover-EM and recall for each question, in their order."""
    scores = {}
    for name in NAMES:
        bench, outcomes = play(name, dataset, questions, **dials)
        rows = [score(question, outcomes[question.id].result) for question in bench.test]
        scores[name] = [(row["cover_em"], row["recall"]) for row in rows]
    return scores


def simulate_few(several: list[Simulation], questions: int) -> DataFrame:
    """The rows of some simulations, with one seed, by their number `play`."""
    points = [({"play": number}, one) for number, one in enumerate(several)]
    return simulate(P.change(abilities_test=questions, abilities_seeds=1), points)


@pytest.mark.parametrize("dial", BETTER)
def test_no_system_loses_by_a_better_ability(dial):
    # every error is drawn for itself, so that a better reader makes some of the same errors; on
    # MuSiQue two errors cannot cancel each other, as they can where values are compared
    share = 0.1 if dial == "breaks_form" else 0.4  # half an answer may be right by chance
    worse = score_all("musique", 10, **MIDDLING | {dial: share})
    better = score_all("musique", 10, **MIDDLING | {dial: BETTER[dial]})
    gained = 0
    for name in NAMES:
        changes = [b - a for (a, _), (b, _) in zip(worse[name], better[name], strict=True)]
        lost = [number for number, change in enumerate(changes) if change < 0]
        assert len(lost) <= 1, (name, lost)
        gained += sum(changes)
    assert gained > 1


@pytest.mark.parametrize("dataset", ["musique", "2wikimultihopqa", "fever", "strategyqa"])
def test_who_knows_everything_answers_everything(dataset):
    scores = score_all(dataset, 5, knows=1.0)
    assert {name: rows for name, rows in scores.items() if any(em < 1 for em, _ in rows)} == {}


@pytest.mark.parametrize("dataset", ["musique", "2wikimultihopqa"])
def test_who_knows_nothing_and_reads_perfectly_answers_what_was_retrieved(dataset):
    scores, answered = score_all(dataset, 10), 0
    # ReAct shows five sentences of a page; InterAug reads each paragraph alone
    for name in set(NAMES) - {"ReAct", "ReAct -> CoT-SC", "InterAug"}:
        for em, recall in scores[name]:
            assert (em == 1) == (recall == 1), name
            answered += em == 1
    assert answered > 40
    assert all(em == 0 for name in CLOSED for em, _ in scores[name])


# all dials alike, and single ones far from perfect reading
DIALS = asdict(Dials())
BOUNDS = [dict.fromkeys(DIALS, share) for share in (0, 0.5, 1)]
BOUNDS += [{dial: 0 if default == 1 else 1} for dial, default in DIALS.items()]


@pytest.mark.parametrize("dataset", ALL_DATASETS)
def test_every_system_plays_with_every_dial_at_its_bounds(dataset, monkeypatch):
    monkeypatch.setattr(kept_plays, "count_cores", lambda: 1)
    several = [
        Simulation(dataset, name, dials, SETTINGS[name]) for name in NAMES for dials in BOUNDS
    ]
    assert len(simulate_few(several, 2)) == 2 * len(several)


@pytest.mark.parametrize("knows", [0, 1])
def test_numbers_and_titles_of_iirc(knows):
    bench, outcomes = play("IRCoT QA", "iirc", 16, knows=knows)
    assert "value" in {question.kind for question in bench.test}
    for question in bench.test:
        row = score(question, outcomes[question.id].result)
        assert (row["f1"] == 1) == (knows or row["recall"] == 1)


@pytest.mark.parametrize("dataset", ["musique", "fever"])
def test_what_is_unknown_and_not_made_up_is_said_to_be_unknown(dataset):
    for name in CLOSED:
        _, outcomes = play(name, dataset, 8)
        assert {outcome.result.answer.lower() for outcome in outcomes.values()} <= {"unknown", ""}


def test_all_systems_read_a_fact_in_the_same_way():
    values, readers = {}, {}
    for name in NAMES:
        _, outcomes = play(name, "hotpotqa", 8, misreads=0.5, knows=0.2)
        for step in (step for outcome in outcomes.values() for step in outcome.trace):
            if isinstance(step.request, Generate | Sample):
                for belief in step.request.prompt.settled:
                    if belief.passage:
                        key = belief.passage.text, belief.fact
                        values.setdefault(key, set()).add(belief.value)
                        readers.setdefault(key, set()).add(name)
    assert sum(len(names) > 5 for names in readers.values()) > 10
    assert {key for key, different in values.items() if len(different) > 1} == set()


@pytest.mark.parametrize("misreads", [0.1, 0.3])
def test_misreading_costs_who_reads_every_step_as_the_hops_say(monkeypatch, misreads):
    monkeypatch.setattr(kept_plays, "count_cores", lambda: 1)
    readers = [("IRCoT QA", {"k": 4}, 0), ("IRCoT QA", {"k": 4}, 0.5), ("Self-Ask", {}, 0)]
    several = [
        Simulation("musique", name, {"misreads": misreads, "knows": knows}, setting)
        for name, setting, knows in readers
    ]
    means = simulate_few(several, 200).groupby("play")["score"].mean()
    questions = open_dataset(P.change(test=200, dev=0), "musique")[1]
    expected = sum((1 - misreads) ** int(question.kind[0]) for question in questions) / 200
    assert [*means] == [pytest.approx(expected, abs=0.08)] * 3
    assert means[0] == means[1]  # who believes every page gains nothing by knowing


def test_plays_do_not_depend_on_their_order_or_on_processes(monkeypatch):
    dials = {"knows": 0.5, "misreads": 0.3, "makes_up": 0.5, "extractor_misreads": 0.3}
    stages = {"searchain/chain": {"misreads": 0.0, "misplans": 1.0}}
    several = [
        Simulation("musique", "SearChain", dials, stages=stages),
        Simulation("musique", "Auto-CoT", dials | {"misplans": 0.3}),
        Simulation("fever", "Self-Ask", dials),
    ]

    def scores(some, cores):
        monkeypatch.setattr(kept_plays, "count_cores", lambda: cores)
        table = simulate_few(some, 6)
        columns = ["system", "id", "score", "recall"]
        return table[columns].sort_values(columns[:2]).to_csv(index=False)

    assert scores(several, 1) == scores(several[::-1], 2)


def test_questions_are_not_played_again_with_dials_that_decide_alike(monkeypatch):
    monkeypatch.setattr(kept_plays, "count_cores", lambda: 1)
    played, play_alone = [], simulation.play_alone
    monkeypatch.setattr(
        simulation, "play_alone", lambda *some: played.append(1) or play_alone(*some)
    )
    base = {"knows": 0.5, "misreads": 0.2, "extractor_misreads": 0.2, "makes_up": 0.5}
    changes = {"knows": 0.6}, {"misreads": 0.3}, {"extractor_misreads": 0.0}, {"makes_up": 0.7}
    changes += {}, {"obeys": 0.5}, {"misplans": 0.2}, {"breaks_form": 0.05}, {"coincide": 0.5}
    several = [Simulation("musique", "SearChain", base | change) for change in changes]
    own = {"searchain/chain": {"knows": 1.0}, "searchain/completion": {"knows": 1.0}}
    several += [Simulation("musique", "SearChain", base, stages={s: own[s]}) for s in own]
    together = simulate_few(several, 10)
    assert len(several) * 2 < len(played) < len(several) * 7
    alone = [simulate_few([one], 10) for one in several]
    assert together["score"].tolist() == [score for table in alone for score in table["score"]]
    assert len({tuple(table["score"]) for table in alone}) > 4
