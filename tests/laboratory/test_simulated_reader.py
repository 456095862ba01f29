"""What the dials of the simulated reader mean, and what it cannot answer."""

from dataclasses import asdict, replace
from itertools import islice
from types import SimpleNamespace

import pytest
from simulating import NAMES, P, play

from ircot_laboratory.make import make_dataset
from ircot_laboratory.simulated.abilities import Abilities
from ircot_laboratory.simulated.dials import Dials, explain_dials
from ircot_laboratory.simulated.extractor import SimulatedExtractor, read_question
from ircot_laboratory.simulated.reader import FORM
from ircot_laboratory.teachers.library import Library, value_in
from ircot_laboratory.world.records import Fact
from ircotlib.data import Paragraph, Prediction
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import UserError
from ircotlib.experiment.laboratory import open_simulated_extractor, open_simulated_reader
from ircotlib.parameters import SIMULATED
from ircotlib.program import Extract, Generate, Retrieve
from ircotlib.systems import System

LIBRARY = Library(make_dataset("musique").world)
STATED = [
    (passage, Fact(passage.title, span.relation))
    for page in islice(LIBRARY.world.pages.values(), 500)
    for passage in page
    for span in passage.spans
]


def able(**dials):
    return Abilities(LIBRARY, Dials(**dials), seed=0)


def share(holds):
    holds = list(holds)
    return sum(holds) / len(holds)


def test_shares_are_those_of_the_dials():
    reader = able(knows=0.3, misreads=0.1, obeys=0.8, makes_up=0.6, extractor_misreads=0.2)
    facts = [fact for _, fact in STATED]
    assert len(facts) > 1500
    assert share(reader.knows(fact) is not None for fact in facts) == pytest.approx(0.3, abs=0.03)
    obeyed = share(reader.happens("obeys", *fact) for fact in facts)
    assert obeyed == pytest.approx(0.8, abs=0.03)
    assert share(reader.invents(fact) is not None for fact in facts) == pytest.approx(0.6, abs=0.03)
    for reads, expected in ((reader.reads, 0.1), (reader.extracts, 0.2)):
        misread = share(reads(*each) != value_in(*each) for each in STATED)
        assert misread == pytest.approx(expected, abs=0.02)
    for dial in ("misplans", "wanders"):
        steps = [able(**{dial: x}).mistake("?", facts, dial) for x in (0, 0.2, 0.4)]
        assert not steps[0] and len(steps[2]) / len(facts) == pytest.approx(0.4, abs=0.03)
        assert steps[1].items() < steps[2].items()
    assert steps[2] == able(misplans=0.4).mistake("?", facts, "misplans")


def test_a_misread_value_is_wrong_and_of_the_right_kind():
    names = {e.name: e.kind for e in LIBRARY.world.entities.values()}
    for passage, fact in STATED:
        right, wrong = value_in(passage, fact), able(misreads=1).reads(passage, fact)
        assert wrong and wrong != right
        assert names.get(wrong) == names.get(right) and wrong.isdigit() == right.isdigit()


def test_errors_of_a_better_reader_are_among_those_of_a_worse_one():
    few, many = able(misreads=0.1, knows=0.4), able(misreads=0.3, knows=0.2)
    for each in STATED:
        assert few.reads(*each) in (value_in(*each), many.reads(*each))
        assert many.knows(each[1]) in (None, few.knows(each[1]))


def test_two_readers_that_coincide_never_contradict_each_other():
    alike = able(misreads=0.4, extractor_misreads=0.4, coincide=1)
    apart = able(misreads=0.4, extractor_misreads=0.4)
    assert all(alike.reads(*each) == alike.extracts(*each) for each in STATED)
    both_wrong = share(
        value_in(*each) not in (apart.reads(*each), apart.extracts(*each)) for each in STATED
    )
    assert both_wrong == pytest.approx(0.16, abs=0.03)


def test_a_page_that_confirms_what_is_known_can_be_read_right():
    known, unknown = ({"misreads": 1, "knows": x} for x in (1, 0))
    for dials, right in ((known | {"confirms": 1}, 1), (known, 0), (unknown | {"confirms": 1}, 0)):
        reader = able(**dials)
        assert share(reader.reads(*each) == value_in(*each) for each in STATED) == right


@pytest.mark.parametrize(("varies", "both"), [(0, 0.5), (1, 0.25)])
def test_misreading_is_drawn_for_each_form_of_prompt_or_once_for_all(varies, both):
    reader, wrong = able(misreads=0.5, varies=varies), []
    for reader.stage in ("cot/cot", "ircot/cot"):
        wrong.append([reader.reads(*each) != value_in(*each) for each in STATED])
    assert share(map(all, zip(*wrong, strict=True))) == pytest.approx(both, abs=0.04)


def test_a_distracted_reader_takes_values_of_other_pages():
    others = [(passage, Fact("Ada Moss", fact.relation)) for passage, fact in STATED]
    values = [value_in(*each) for each in STATED]
    for distracted in (0, 0.2, 1):
        read = [able(distracted=distracted).reads(*each) for each in others]
        taken = share(value is not None for value in read)
        assert taken == pytest.approx(distracted, abs=0.03)
        assert all(a in (None, b) for a, b in zip(read, values, strict=True))


@pytest.mark.parametrize(
    ("dial", "hurt", "others"),
    [
        ("misplans", ["SearChain", "Plan-and-Solve w/ IR", "CoT"], ["Self-Ask", "IRCoT QA"]),
        ("wanders", ["Self-Ask", "IRCoT QA", "ReAct", "DSP"], ["SearChain", "CoT"]),
    ],
)
def test_plans_made_at_once_and_step_by_step_have_errors_of_their_own(dial, hurt, others):
    for name in (*hurt, *others):
        bench, outcomes = play(name, "musique", 6, knows=1, **{dial: 1})
        right = [outcomes[q.id].result.answer in q.answers for q in bench.test]
        assert sum(right) == (0 if name in hurt else 6), name


def test_feedback_is_believed_or_read_again():
    for rereads in (0, 1):
        bench, outcomes = play("SearChain", "musique", 8, misreads=1, rereads=rereads)
        right = [outcomes[q.id].result.answer in q.answers for q in bench.test]
        assert right == [not rereads] * 8


def test_dsp_may_ask_for_what_it_knows():
    asked = [
        [
            step.request.query
            for outcome in play("DSP", "musique", 4, knows=1, asks_known=share)[1].values()
            for step in outcome.trace
            if isinstance(step.request, Retrieve)
        ]
        for share in (0, 1)
    ]
    assert set(asked[0]) != set(asked[1])


@pytest.mark.parametrize(("proposes_wrong", "misvotes"), [(0, 1), (1, 0), (1, 1)])
def test_tree_of_thought_proposes_and_votes_as_the_dials_say(proposes_wrong, misvotes):
    dials = {"proposes_wrong": proposes_wrong, "misvotes": misvotes}
    bench, outcomes = play("Tree-of-Thought w/ IR", "musique", 6, knows=1, **dials)
    right = [outcomes[q.id].result.answer in q.answers for q in bench.test]
    assert (sum(right) < 3) == (proposes_wrong == misvotes == 1) and sum(right) in (2, 6)


def test_the_extractor_answers_queries_in_any_of_the_laboratorys_wordings():
    fact = Fact("Ada Moss", "father")
    assert fact in read_question("Who is the father of Ada Moss?")
    assert fact in read_question("Whose child was Ada Moss?")
    passage, fact = next(each for each in STATED if each[1].relation == "birthplace")
    extractor = SimulatedExtractor(Dials(), make_dataset, "musique")
    paragraph = Paragraph("1", passage.title, passage.text)
    queries = [f"Where was {fact.subject} born?", f"Where did {fact.subject} die?", "Who?"]
    requests = [Extract(query, paragraph) for query in queries]
    replies = [extractor.decode(reply) for _, reply in extractor.answer(requests)]
    assert replies[0].text == value_in(passage, fact) and replies[0].confidence > 1.5
    assert replies[2].confidence < 1.5
    asked = Extract("Where was Nobody Moss born?", paragraph)
    others = [replace(asked, paragraph=Paragraph("", p.title, p.text)) for p, _ in STATED]
    for invents in (0, 0.3, 1):
        extractor = SimulatedExtractor(Dials(extractor_invents=invents), make_dataset, "musique")
        sure = share(extractor.reply(request).confidence > 1.5 for request in dict.fromkeys(others))
        assert sure == pytest.approx(invents, abs=0.05)


def test_who_makes_nothing_up_leaves_a_query_unsolved():
    for makes_up in (0, 1):
        _, outcomes = play("SearChain", "musique", 8, makes_up=makes_up)
        firsts = [outcome.result.nodes[0].unsolved for outcome in outcomes.values()]
        assert firsts == [not makes_up] * 8


def test_who_does_not_obey_keeps_what_it_knows():
    for obeys in (0, 1):
        dials = {"knows": 1, "misreads": 1, "extractor_misreads": 1, "obeys": obeys}
        for name in ("Self-Ask", "IRCoT QA", "SearChain", "ReAct", "DecomP"):
            bench, outcomes = play(name, "musique", 6, **dials)
            right = [outcomes[q.id].result.answer in q.answers for q in bench.test]
            assert right == [not obeys] * 6, name


# these take the whole reply as an answer if they recognise nothing in it, from any model
FREE = {"NoR QA", "OneR QA", "IRCoT QA w/o reader", "IRCoT QA", "Direct Prompting", "DSP"}
FREE |= {"Direct Retrieval", "InterAug", "Self-Ask", "Least-to-Most"}


def test_a_reply_without_its_form_counts_as_not_parsed():
    assert FORM.sub("", "So the answer is: Lindton.") == "Lindton."
    for name in NAMES:
        _, outcomes = play(name, "musique", 4, knows=1, breaks_form=1)
        faults = [bool(outcome.result.fault) for outcome in outcomes.values()]
        assert faults == [name not in FREE] * 4, name


def test_dials_are_explained_and_unknown_ones_refused():
    assert {each.dial: each.default for each in explain_dials()} == asdict(Dials())
    assert all(each.meaning.endswith(".") and each.example for each in explain_dials())
    with pytest.raises(UserError, match="found 'reads', expected some of knows, misreads, "):
        open_simulated_reader(P.change(model=SIMULATED, dials={"reads": 1.0}))


def test_what_it_cannot_answer(tmp_path):
    reader = open_simulated_reader(P.change(model=SIMULATED))
    bench, _ = play("CoT", "musique", 1)
    other = replace(bench.test[0], text="Who wrote Hamlet?")
    system = SimpleNamespace(name="Mine", module="mine", stages=("write",), program=play)
    (tmp_path / "musique").mkdir()
    p = P.change(model=SIMULATED, data_dir=str(tmp_path))
    for wrong, words in (
        (lambda: reader.listen(other, System("CoT", play)), "one of the laboratory's"),
        (lambda: reader.listen(bench.test[0], system), "found no teacher of its stages"),
        (lambda: open_simulated_reader(p), "laboratory.json"),
        (lambda: open_simulated_extractor(p, "musique"), "laboratory.json"),
    ):
        with pytest.raises(UserError, match=words) as error:
            wrong()
        assert "\n" not in str(error.value)
    [(_, reply)] = reader.answer([Generate("Who wrote Hamlet?")])
    assert isinstance(reply, ValueError) and "no known stage" in str(reply)


def mine(question, *, prompts):
    """A system of one's own."""
    reply = yield Generate(prompts["write"](question))
    return Prediction(reply)


def write_last_value(mind, situation):
    mind.settle_all()
    return mind.values[len(mind.steps) - 1]


TEACHERS = {"write": write_last_value}


def test_a_system_of_ones_own_plays_with_its_teachers():
    bench, _ = play("CoT", "musique", 3, knows=1)
    system, programs = System("Mine", mine, ("write",)), {}
    for question in bench.test:
        heard = bench.model.listen(question, system)
        prompts = {"write": heard.writer(system.module, "write", lambda q, *_: q.text)}
        programs[question.id] = heard.follow(mine(question, prompts=prompts))
    outcomes, _ = run(programs, [bench.model], Calls(None))
    assert all(outcomes[q.id].result.answer in q.answers for q in bench.test)
