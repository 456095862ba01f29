"""The systems that do not retrieve, and Self-Ask and Plan-and-Solve with retrieval, tested by
playing replies and comparing the exact requests; also their demonstrations.
"""

import sys
from functools import partial

import pytest
from playing import own_demonstrations, play

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Extract, Extracted, Generate, Retrieve, Sample, Sampled
from ircotlib.prompting.prompt import Prompt, read_template, render
from ircotlib.systems.auto_cot import auto_cot, cluster_texts, write_example
from ircotlib.systems.cot import cot, cot_sc, read_answer
from ircotlib.systems.direct import NEXT, direct_prompting
from ircotlib.systems.least_to_most import least_to_most
from ircotlib.systems.plan_and_solve import plan_and_solve, plan_and_solve_with_ir
from ircotlib.systems.recite import END, recite_and_answer
from ircotlib.systems.self_ask import BEGUN, read_asking, self_ask, self_ask_with_search
from ircotlib.text import list_items

ASKED = "What is the capital of the country of Edvard Grieg?"
QUESTION = Question("q", ASKED, ("Oslo",), (), "test")
GRIEG = Paragraph("grieg", "Edvard Grieg", "Edvard Grieg was born in Bergen, Norway.")
OSLO = Paragraph("oslo", "Oslo", "Oslo is the capital of Norway.")


def write(question, paragraphs=(), thoughts=(), **fields):
    """A prompt that shows its arguments."""
    shown = " ".join(paragraph.id for paragraph in paragraphs)
    return "|".join([question.text, shown, " ".join(thoughts), *map(str, fields.values())]).rstrip()


def stages(*names):
    """A prompt writer for each stage; its prompts begin with the name of the stage."""

    def named(name):
        return lambda *given, **fields: f"{name}|{write(*given, **fields)}"

    return {name: named(name) for name in names}


# Direct Prompting, CoT and CoT-SC


def test_direct_prompting_answers_at_once():
    system = direct_prompting(QUESTION, prompts=stages("direct"), max_tokens=9)
    requests, found = play(system, ["Oslo"])
    assert requests == [Generate(f"direct|{ASKED}||", NEXT, 9)]
    assert found == Prediction("Oslo", reading="Oslo")
    _, found = play(direct_prompting(QUESTION, prompts=stages("direct")), [""])
    assert found == Prediction(fault="no answer")


CHAIN = "Edvard Grieg was born in Norway. Its capital is Oslo. The answer is Oslo."


def test_cot_takes_the_answer_of_its_chain():
    requests, found = play(cot(QUESTION, prompts=stages("cot")), [CHAIN])
    assert requests == [Generate(f"cot|{ASKED}||", NEXT, 256)]
    assert (found.answer, found.reading, found.fault) == ("Oslo", CHAIN, "")
    assert found.thoughts == (CHAIN[:32], "Its capital is Oslo.", "The answer is Oslo.")


@pytest.mark.parametrize("chain", ["Norway has a capital.", "", "So the answer is: "])
def test_a_chain_without_an_answer_is_the_answer_and_a_fault(chain):
    found = read_answer(chain)
    assert (found.answer, found.fault) == (chain, "no answer in the chain")


def test_cot_sc_takes_the_answer_of_most_chains():
    chains = ["So the answer is: Bergen.", "I cannot tell.", CHAIN, "The answer is oslo."]
    drawn = tuple(Sampled(chain, None) for chain in chains)
    requests, found = play(cot_sc(QUESTION, prompts=stages("cot")), [drawn])
    assert requests == [Sample(f"cot|{ASKED}||", 40, 0.7, NEXT, 256)]
    assert (found.answer, found.reading) == ("Oslo", CHAIN) and len(found.thoughts) == 3
    assert found.fault == "no answer in 1 of 4 chains"
    _, found = play(cot_sc(QUESTION, prompts=stages("cot"), n=1), [(Sampled("Hm.", -1.0),)])
    assert (found.answer, found.fault) == ("", "no answer in 1 of 1 chains")


# Auto-CoT

WRITERS = stages("chain", "ask")
THEREFORE = "\nTherefore, the answer is"


def others(*texts):
    return [Question(text, text, ("?",), (), "test") for text in texts]


def test_an_example_is_the_first_question_with_a_short_whole_chain_and_an_answer():
    long, lines, cut, silent, good = "w " * 61, "six lines", "cut off", "silent", "good"
    program = write_example(others(long, lines, cut, silent, good), WRITERS["chain"])
    replies = ["1.\n" * 6, "It is", "It is so.", "", "One fact.\n\nTwo facts.", "Oslo."]
    requests, found = play(program, replies)
    asked = [lines, cut, silent, silent, good, good]
    assert [request.prompt.split("|")[1] for request in requests] == asked
    assert requests[2] == Generate("chain|silent||", NEXT, 256)
    assert requests[3] == Generate(f"chain|silent||It is so.{THEREFORE}", LINE, 32)
    assert found == ["chain|good||One fact. Two facts. The answer is Oslo."]
    assert play(write_example(others(long), WRITERS["chain"]), [])[1] == []


RIVERS = others("on which river does Cairo lie", "on which river does Rome lie")
NOVELS = others("who wrote the novel Emma", "who wrote the novel Dracula", "who wrote the novel It")


def test_auto_cot_shows_an_example_of_each_cluster():
    system = partial(auto_cot, prompts=WRITERS, others=[*RIVERS, *NOVELS], examples=2)
    requests, found = play(system(QUESTION), ["A.", "a", "B.", "b", CHAIN])
    first, second = (request.prompt.split("|")[1] for request in requests[:4:2])
    assert {first.split()[0], second.split()[0]} == {"on", "who"}
    examples = [f"chain|{first}||A. The answer is a.", f"chain|{second}||B. The answer is b."]
    assert requests[4] == Generate(f"ask|{ASKED}|||" + "\n\n\n".join(examples), NEXT, 256)
    assert found.answer == "Oslo"


def test_all_questions_of_a_data_set_ask_for_the_same_examples():
    system = partial(auto_cot, prompts=WRITERS, others=tuple(RIVERS + NOVELS), examples=3)
    replies = ["A.", "a", "B.", "b", "C.", "c", CHAIN]
    one, another = (play(system(question), replies)[0] for question in (QUESTION, RIVERS[0]))
    assert one[:6] == another[:6] and one[6] != another[6]


def test_auto_cot_without_an_example_thinks_without():
    system = auto_cot(QUESTION, prompts=WRITERS, others=RIVERS, examples=1)
    requests, found = play(system, ["cut", "cut off", CHAIN])
    assert requests[-1] == Generate(f"chain|{ASKED}||", NEXT, 256) and found.answer == "Oslo"


def test_clusters_are_of_any_vectors_and_those_nearest_the_centre_come_first():
    def embed(texts):
        return [[float(text)] for text in texts]

    texts = ("1", "3", "100", "2.2", "101", "99.1")
    clusters = cluster_texts(texts, 2, embed, 0)
    assert sorted(clusters) == [[2, 5, 4], [3, 1, 0]]
    assert cluster_texts(("1", "1"), 4, embed, 0) == [[0, 1]]  # no more clusters than texts


def test_clusters_without_scikit_learn_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    system = auto_cot(QUESTION, prompts=WRITERS, others=others("never", "clustered"))
    with pytest.raises(ImportError, match=r"^found no scikit-learn .*\[dense\]"):
        next(system)


# RECITE

SHOWN = "Grieg was Norwegian.\n\nAnswer 2: Oslo is the capital of Norway."


def test_recite_answers_from_each_recitation():
    drawn = tuple(Sampled(text, None) for text in (SHOWN, "Bergen.", "Oslo."))
    system = recite_and_answer(QUESTION, prompts=stages("recite", "answer"), n=3)
    replies = [drawn, "I cannot tell.", "The answer is Oslo.", "The answer is oslo."]
    requests, found = play(system, replies)
    assert requests == [
        Sample(f"recite|{ASKED}||", 3, 0.7, END, 128),
        Generate(f"answer|{ASKED}|||{SHOWN}", LINE, 16),
        Generate(f"answer|{ASKED}|||Bergen.", LINE, 16),
        Generate(f"answer|{ASKED}|||Oslo.", LINE, 16),
    ]
    assert (found.answer, found.reading) == ("Oslo", "The answer is Oslo.")
    assert found.thoughts == ("Bergen.",) and found.fault == "no answer from 1 of 3 recitations"


# Self-Ask

ASKING = [
    "Yes.",
    "Follow up: Where was Grieg born?",
    "Intermediate answer: Norway.",
    "Follow up: What is the capital of Norway?",
    "Intermediate answer: Oslo.",
    "So the final answer is: Oslo.",
]
ANSWERED, NEXT_QUESTION, FOLLOW_UP = "\nIntermediate answer:", "\nQuestion:", "\nFollow up:"
FINAL = "\nSo the final answer is:"
ASK = f"ask|{ASKED}||"


def asked_after(lines):
    return ASK + (" " + "\n".join(ASKING[:lines]) if lines else "")


def test_self_ask_writes_all_at_once():
    requests, found = play(self_ask(QUESTION, prompts=stages("ask")), ["\n".join(ASKING)])
    assert requests == [Generate(ASK, (NEXT_QUESTION,), 256)]
    assert (found.answer, found.fault) == ("Oslo", "") and found.thoughts == tuple(ASKING)
    system = self_ask(QUESTION, prompts=stages("ask"), begun=BEGUN)
    requests, found = play(system, ["\n".join(["Where was Grieg born?", *ASKING[2:]])])
    assert requests == [Generate(f"{ASK} Yes.\nFollow up:", (NEXT_QUESTION,), 256)]
    assert found.thoughts == tuple(ASKING)


@pytest.mark.parametrize(
    ("text", "answer", "fault"),
    [
        ("No.\nSo the final answer is: Oslo.", "Oslo", ""),
        ("No.\nSo the final answer is: Alien: Covenant.", "Alien: Covenant", ""),
        ("So the final answer is: Oslo.\nIt is a city.", "Oslo", ""),
        ("Yes.\nFollow up: Where was Grieg", "Where was Grieg", "no final answer"),
        ("Oslo.", "Oslo", "no final answer"),
        ("No.\nSo the final answer is:", "", "no final answer"),
        ("", "", "no final answer"),
    ],
)
def test_what_self_ask_wrote_is_read(text, answer, fault):
    found = read_asking(text)
    assert (found.answer, found.fault) == (answer, fault)


def test_self_ask_with_search_goes_round_with_what_it_reads():
    system = self_ask_with_search(QUESTION, prompts=stages("ask", "read"))
    replies = ["\n".join(ASKING[:2]), (GRIEG,), "Norway.", ASKING[3], (OSLO,), "Oslo", ASKING[5]]
    requests, found = play(system, replies)
    stop = (ANSWERED, NEXT_QUESTION)
    assert requests == [
        Generate(asked_after(0), stop, 256),
        Retrieve("Where was Grieg born?", 1),
        Generate("read|Where was Grieg born?|grieg|", LINE, 32),
        Generate(asked_after(3), stop, 256),
        Retrieve("What is the capital of Norway?", 1),
        Generate("read|What is the capital of Norway?|oslo|", LINE, 32),
        Generate(asked_after(5), stop, 256),
    ]
    assert (found.answer, found.fault, found.paragraphs) == ("Oslo", "", (GRIEG, OSLO))
    assert found.thoughts == tuple(ASKING)


def test_self_ask_with_search_extracts_and_answers_itself_what_search_leaves_open():
    system = self_ask_with_search(QUESTION, prompts=stages("ask", "read"), k=2, extract=True)
    replies = ["\n".join(ASKING[:2]), (GRIEG, OSLO), Extracted("", 0.0), Extracted("", 0.0)]
    replies += ["Norway.", ASKING[3], (OSLO, GRIEG), Extracted("Oslo", 2.0), Extracted("Bergen", 1)]
    requests, found = play(system, [*replies, ASKING[5]])
    begun, capital = asked_after(2) + ANSWERED, "What is the capital of Norway?"
    assert requests[1:5] == [
        Retrieve("Where was Grieg born?", 2),
        Extract("Where was Grieg born?", GRIEG),
        Extract("Where was Grieg born?", OSLO),
        Generate(begun, (FOLLOW_UP, FINAL, NEXT_QUESTION), 256),
    ]
    assert requests[5].prompt == asked_after(3)
    assert requests[6:9] == [Retrieve(capital, 2), Extract(capital, OSLO), Extract(capital, GRIEG)]
    assert requests[9].prompt == asked_after(5)
    assert found.thoughts == tuple(ASKING) and found.paragraphs == (GRIEG, OSLO)


@pytest.mark.parametrize("read", [[(GRIEG,), "Unknown."], [()]], ids=["unknown", "nothing"])
def test_self_ask_with_search_is_capped_and_then_asked_for_the_final_answer(read):
    prompts = stages("ask", "read")
    system = self_ask_with_search(QUESTION, prompts=prompts, begun=BEGUN, max_follow_ups=2)
    replies = ["Where?", *read, "Norway.", "Follow up: Which?", *read, "Oslo.", "Oslo."]
    requests, found = play(system, replies)
    queries = [request.query for request in requests if isinstance(request, Retrieve)]
    assert queries == ["Where?", "Which?"]
    text = " Yes.\nFollow up: Where?\nIntermediate answer: Norway."
    text += "\nFollow up: Which?\nIntermediate answer: Oslo.\nSo the final answer is:"
    assert requests[-1] == Generate(ASK + text, LINE, 256)
    assert (found.answer, found.fault) == ("Oslo", "")


def test_self_ask_with_search_that_asks_nothing():
    system = self_ask_with_search(QUESTION, prompts=stages("ask", "read"))
    requests, found = play(system, ["", ""])
    assert [request.prompt for request in requests] == [ASK, ASK + FINAL]
    assert (found.answer, found.fault, found.paragraphs) == ("", "no final answer", ())


# Least-to-Most

BORN, CAPITAL = "Where was Grieg born?", "What is the capital of Norway?"


def test_least_to_most_answers_one_sub_question_after_the_other():
    system = least_to_most(QUESTION, prompts=stages("decompose", "solve"))
    requests, found = play(system, [f"1. {BORN}\n2. {CAPITAL}", "Norway", "Oslo", "Oslo."])
    assert requests == [
        Generate(f"decompose|{ASKED}||", NEXT, 256),
        Generate(f"solve|{BORN}||", LINE, 256),
        Generate(f"solve|{BORN}||Norway\nQ: {CAPITAL}\nA:", LINE, 256),
        Generate(f"solve|{BORN}||Norway\nQ: {CAPITAL}\nA: Oslo\nQ: {ASKED}\nA:", LINE, 256),
    ]
    assert (found.answer, found.reading, found.fault) == ("Oslo", "Oslo.", "")
    assert found.thoughts == (f"{BORN} Norway", f"{CAPITAL} Oslo")


def test_least_to_most_without_a_list_asks_the_question_alone():
    system = partial(least_to_most, prompts=stages("decompose", "solve"), max_questions=1)
    requests, found = play(system(QUESTION), ["I do not know.", ""])
    assert requests[1:] == [Generate(f"solve|{ASKED}||", LINE, 256)]
    assert (found.answer, found.fault) == ("", "no list of sub-questions, no answer")
    # no more than the cap, and the question itself only once
    requests, _ = play(system(QUESTION), [f"1. {ASKED}\n2. {BORN}\n3. {CAPITAL}", "Norway", "Oslo"])
    assert requests[-1].prompt == f"solve|{BORN}||Norway\nQ: {ASKED}\nA:"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("1. Where?\n2) Who? \n Step 3: Find 4.5 of it.", ["Where?", "Who?", "Find 4.5 of it."]),
        ("Plan:\n1. Find it.\nSolution", ["Find it."]),
        ("1.\n2. Who?", ["Who?"]),
        ("1809 was a year. 2. is no item.", []),
        ("", []),
    ],
)
def test_the_items_of_a_list(text, items):
    assert list_items(text) == items


# Plan-and-Solve

PLAN = "Plan:\n1. Find the country of Grieg.\n2. Find its capital."
SOLVED = "1. It is Norway.\n2. It is Oslo.\nThe answer is Oslo."
SO = " Therefore, the answer is"


def test_plan_and_solve_writes_plan_and_solution_at_once():
    text = f"{PLAN}\nSolution:\n{SOLVED}"
    requests, found = play(plan_and_solve(QUESTION, prompts=stages("solve")), [text])
    assert requests == [Generate(f"solve|{ASKED}||", NEXT, 256)]
    assert (found.answer, found.reading, found.fault) == ("Oslo", text, "")
    assert found.thoughts == tuple(text.splitlines())


def test_a_solution_without_an_answer_is_asked_for_it():
    system = partial(plan_and_solve, prompts=stages("solve"))
    requests, found = play(system(QUESTION), [PLAN, "Oslo."])
    assert requests[1:] == [Generate(f"solve|{ASKED}||{PLAN}{SO}", LINE, 32)]
    assert (found.answer, found.reading) == ("Oslo", f"{PLAN}{SO} Oslo.")
    _, found = play(system(QUESTION), ["", ""])
    assert found.fault == "no answer in the chain"


def test_plan_and_solve_with_ir_retrieves_once_with_each_step():
    system = plan_and_solve_with_ir(QUESTION, prompts=stages("solve", "read"))
    requests, found = play(system, [PLAN, (GRIEG,), (OSLO,), SOLVED])
    assert requests == [
        Generate(f"solve|{ASKED}||", ("\nSolution:", *NEXT), 256),
        Retrieve("Find the country of Grieg.", 1),
        Retrieve("Find its capital.", 1),
        Generate(f"read|{ASKED}|grieg oslo|{PLAN}\nSolution:", NEXT, 256),
    ]
    assert (found.answer, found.paragraphs, found.fault) == ("Oslo", (GRIEG, OSLO), "")
    assert found.reading == f"{PLAN}\nSolution:\n{SOLVED}"


def test_plan_and_solve_with_ir_without_a_plan_retrieves_with_the_question():
    prompts = stages("solve", "read")
    system = partial(plan_and_solve_with_ir, prompts=prompts, k=2, max_searched=1)
    requests, found = play(system(QUESTION), ["Hm.", (OSLO, GRIEG), "It is Oslo.", "Oslo."])
    assert requests[1] == Retrieve(ASKED, 2)
    text = f"Hm.\nSolution:\nIt is Oslo.{SO}"
    assert requests[3] == Generate(f"read|{ASKED}|oslo grieg|{text}", LINE, 32)
    assert (found.answer, found.paragraphs, found.fault) == ("Oslo", (OSLO, GRIEG), "no plan")
    # no more steps than the cap, no paragraph twice
    requests, found = play(system(QUESTION), [PLAN, (OSLO, OSLO), SOLVED])
    assert requests[1] == Retrieve("Find the country of Grieg.", 2)
    assert found.paragraphs == (OSLO,)


# Prompts and demonstrations


def rendered(stage, *given, **fields):
    """The prompt of "system/stage" with one demonstration."""
    template = read_template(*stage.split("/"))
    return Prompt(["<shown>"], len, template, 10_000)(QUESTION, *given, **fields)


TRIGGER = (
    "Let's first understand the problem and devise a plan to solve the problem. "
    "Then, let's carry out the plan to solve the problem step by step."
)
GIVEN = "Wikipedia Title: Oslo\nOslo is the capital of Norway.\n\n"


STEPS = f"Q: {ASKED}\nA: Let's think step by step."
NEEDED = f"Question: {ASKED}\nAre follow up questions needed here:"
RENDERED = [  # a stage, what it is given, its prompt
    (("direct/direct",), {}, f"Q: {ASKED}\nA:"),
    (("cot/cot",), {}, f"Q: {ASKED}\nA:"),
    (("auto_cot/chain",), {}, STEPS),
    (("auto_cot/chain", (), ("One.\nTwo.",)), {}, f"{STEPS} One.\nTwo."),
    (("auto_cot/ask",), {"examples": "Q: a\nA: b"}, f"Q: a\nA: b\n\n\n{STEPS}"),
    (("recite/recite",), {}, f"Question: {ASKED}\n\nAnswer 1:"),
    (("recite/answer",), {"recitation": SHOWN}, f"Answer 1: {SHOWN}\n\nQ: {ASKED}\nA:"),
    (("self_ask/ask",), {}, NEEDED),
    (("self_ask/ask", (), (" Yes.\nFollow up: Where?",)), {}, f"{NEEDED} Yes.\nFollow up: Where?"),
    (("self_ask/read", [OSLO]), {}, f"{GIVEN}Q: {ASKED}\nA:"),
    (("least_to_most/decompose",), {}, f"Q: {ASKED}\nTo answer this question, first answer these:"),
    (
        ("least_to_most/solve", (), ("Norway\nQ: It?\nA:",)),
        {},
        f"Q: {ASKED}\nA: Norway\nQ: It?\nA:",
    ),
    (("plan_and_solve/solve",), {}, f"Q: {ASKED}\nA: {TRIGGER}"),
    (("plan_and_solve/read", [OSLO], (PLAN,)), {}, f"{GIVEN}Q: {ASKED}\nA: {TRIGGER}\n{PLAN}"),
]


@pytest.mark.parametrize(("given", "fields", "expected"), RENDERED)
def test_prompts_in_full(given, fields, expected):
    assert rendered(*given, **fields) == f"<shown>\n\n\n{expected}"


FAMILIES = ("multihop", "strategyqa", "slotfilling", "fever", "eli5")


def replies_of(system, stage, family):
    """The replies of a model that continues as the demonstrations do: each demonstration without
    its prompt, which is the template filled with its question.
    """
    template = read_template(system, stage)
    for block in own_demonstrations(system, stage, family):
        asked = {"Question": "Question: "}.get(template.wording.split(":")[0], "Q: ")
        question = block.partition(asked)[2].partition("\n")[0]
        example = render((), template.ask(question), "", template).removeprefix("Q: ")
        assert example in block, (example, block)
        yield question, block.partition(example)[2].strip()


@pytest.mark.parametrize("family", FAMILIES)
def test_demonstrations_are_in_the_format_that_the_systems_read(family):
    """The answers are those of the data set, and the same in every system."""
    asked = dict(replies_of("least_to_most", "decompose", family))
    answers = {}
    for block in own_demonstrations("least_to_most", "solve", family):
        *_, question, answer = block.splitlines()
        answers[question.removeprefix("Q: ")] = answer.removeprefix("A: ").removesuffix(".")
    assert list(asked) == list(answers) and all(map(list_items, asked.values()))
    for stage in ("cot/cot", "plan_and_solve/solve"):
        for question, chain in replies_of(*stage.split("/"), family):
            found = read_answer(chain)
            assert (found.answer, found.fault) == (answers[question], ""), question
    for question, text in replies_of("self_ask", "ask", family):
        found = read_asking(text)
        assert (found.answer, found.fault) == (answers[question], ""), question
        assert text.count("Follow up:") == text.count("Intermediate answer:") >= 2


@pytest.mark.parametrize("family", FAMILIES)
def test_demonstrations_that_read_show_paragraphs_and_what_is_not_there(family):
    for block in own_demonstrations("plan_and_solve", "read", family):
        assert block.count("Wikipedia Title: ") == 2 and TRIGGER in block
    *known, unknown = own_demonstrations("self_ask", "read", family)
    for block in known:
        shown, answer = block.rpartition("\nA: ")[::2]
        assert answer.lower() in shown.partition("\nQ: ")[0].lower()
    assert unknown.endswith("\nA: unknown")
    for block in own_demonstrations("recite", "recite", family):
        assert "\n\nAnswer 1: " in block and "\n\nAnswer 2: " in block
