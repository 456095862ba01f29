"""Direct Prompting, CoT, CoT-SC and Auto-CoT, with replies by hand."""

from functools import partial

from replying import CAPITAL as QUESTION
from replying import CAPITAL_ASKED as ASKED
from replying import send, stages

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Generate, Sample, Sampled
from ircotlib.systems.auto_cot import auto_cot, cluster_texts, write_example
from ircotlib.systems.cot import cot, cot_sc
from ircotlib.systems.direct import NEXT, direct_prompting


def test_direct_prompting_answers_at_once():
    system = direct_prompting(QUESTION, prompts=stages("direct"), max_tokens=9)
    requests, result = send(system, ["Oslo"])
    assert requests == [Generate(f"direct|{ASKED}||", NEXT, 9)]
    assert result == Prediction("Oslo", reading="Oslo")
    _, result = send(direct_prompting(QUESTION, prompts=stages("direct")), [""])
    assert result == Prediction(fault="no answer")


CHAIN = "Edvard Grieg was born in Norway. Its capital is Oslo. The answer is Oslo."


def test_cot_takes_the_answer_of_its_chain():
    requests, result = send(cot(QUESTION, prompts=stages("cot")), [CHAIN])
    assert requests == [Generate(f"cot|{ASKED}||", NEXT, 256)]
    assert (result.answer, result.reading, result.fault) == ("Oslo", CHAIN, "")
    facts = CHAIN[:32], "Its capital is Oslo."
    assert result.thoughts == (*facts, "The answer is Oslo.")
    _, result = send(cot(QUESTION, prompts=stages("cot")), ["So the answer is: "])
    assert result.answer == "So the answer is: "
    assert result.fault == "no answer in the chain"


def test_cot_sc_takes_the_answer_of_most_chains():
    chains = ["So the answer is: Bergen.", "I cannot tell.", CHAIN]
    chains += ["The answer is oslo."]
    drawn = tuple(Sampled(chain, None) for chain in chains)
    requests, result = send(cot_sc(QUESTION, prompts=stages("cot")), [drawn])
    assert requests == [Sample(f"cot|{ASKED}||", 40, 0.7, NEXT, 256)]
    assert (result.answer, result.reading) == ("Oslo", CHAIN)
    assert len(result.thoughts) == 3
    assert result.fault == "no answer in 1 of 4 chains"


WRITERS = stages("chain", "ask")
THEREFORE = "\nTherefore, the answer is"


def others(*texts):
    return [Question(text, text, ("?",), (), "test") for text in texts]


def test_an_example_is_the_first_question_with_a_short_whole_chain_and_an_answer():
    long, lines, cut, silent, good = "w " * 61, "six lines", "cut off", "silent", "good"
    program = write_example(others(long, lines, cut, silent, good), WRITERS["chain"])
    replies = ["1.\n" * 6, "It is", "It is so.", "", "One fact.\n\nTwo facts.", "Oslo."]
    requests, result = send(program, replies)
    asked = [lines, cut, silent, silent, good, good]
    assert [request.prompt.split("|")[1] for request in requests] == asked
    assert requests[2] == Generate("chain|silent||", NEXT, 256)
    assert requests[3] == Generate(f"chain|silent||It is so.{THEREFORE}", LINE, 32)
    assert result == ["chain|good||One fact. Two facts. The answer is Oslo."]
    assert send(write_example(others(long), WRITERS["chain"]), [])[1] == []


RIVERS = others("on which river does Cairo lie", "on which river does Rome lie")
NOVELS = others(
    "who wrote the novel Emma", "who wrote the novel Dracula", "who wrote the novel It"
)


def test_auto_cot_shows_an_example_of_each_cluster():
    system = partial(auto_cot, prompts=WRITERS, others=[*RIVERS, *NOVELS], examples=2)
    requests, result = send(system(QUESTION), ["A.", "a", "B.", "b", CHAIN])
    first, second = (request.prompt.split("|")[1] for request in requests[:4:2])
    assert {first.split()[0], second.split()[0]} == {"on", "who"}
    examples = [f"chain|{first}||A. The answer is a."]
    examples += [f"chain|{second}||B. The answer is b."]
    prompt = f"ask|{ASKED}|||" + "\n\n\n".join(examples)
    assert requests[4] == Generate(prompt, NEXT, 256)
    assert result.answer == "Oslo"


def test_clusters_are_of_words_and_those_nearest_the_centre_come_first():
    texts = ("?", "who wrote it", "who wrote that")
    assert sorted(map(sorted, cluster_texts(texts, 2, 0))) == [[0], [1, 2]]
    texts = ("cat tail", "cat tail red", "dog", "cat", "dog dog")
    assert sorted(cluster_texts(texts, 2, 0)) == [[0, 1, 3], [2, 4]]
    # no more clusters than texts
    assert cluster_texts(("1", "1"), 4, 0) == [[0, 1]]
