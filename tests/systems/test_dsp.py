"""DSP, played by hand."""

import re

from replying import drawn, own_demonstrations, play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Retrieve, Sample
from ircotlib.systems.dsp import dsp
from ircotlib.systems.dsp.examples import read_pairs

QUESTION = Question("q", "Who leads Kenya's capital?", ("Ann",), (), "test")
FIRST = "Question: Sea of Cairo?\nAnswer: Red Sea"
SECOND = "Question: Sea of the Nile?\nAnswer: Sea"
PROMPTS = writers("dsp", "demonstrate", "search", "predict", demonstrations=(FIRST, SECOND))
PROMPTS |= writers("dsp", "search", "predict")
NAIROBI = Paragraph("n", "Nairobi", "Nairobi is Kenya's capital.")
NILE = Paragraph("s", "Nile", "The Nile flows into the sea.")
ANN = Paragraph("a", "Ann", "Ann leads Nairobi.")
END, STEPS = ("\n\n",), "Rationale: Let's think step by step."
INTRO = "Write a search query that helps to answer the question.\n\n"
OUTRO = "Answer the question with a short answer.\n\n"
SHOWN = "Wikipedia Title: Nile\nThe Nile flows into the sea.\n\n"
ASKED = "Question: Who leads Kenya's capital?\n"
CAIRO, NILES = "Question: Sea of Cairo?\n", "Question: Sea of the Nile?\n"


def test_it_demonstrates_searches_twice_and_predicts():
    failed = ["It is.\nSearch Query: Cairo", (NILE,), "No.\nSearch Query: Sea", (NILE,)]
    failed += ["So.\nAnswer: Red Sea"]  # no paragraph has it
    done = ["A.\nSearch Query: Nile", (NILE,), "B.\nSearch Query: Nile sea", (NILE,)]
    done += ["C.\nAnswer: the Sea"]
    hops = [drawn("D.\nSearch Query: Kenya", "E.\nSearch Query: capital", scores=[-2.0, -1.0])]
    hops += [(NILE, NAIROBI), (NAIROBI,), (), drawn("F.", "F is long.")]
    hops += ["Ann", (ANN,), (ANN, NAIROBI)]
    last = [drawn("G.\nAnswer: Bo", "H.\nAnswer: Ann.", "I.\nAnswer: ann")]
    program = dsp(QUESTION, prompts=PROMPTS, annotated=1, queries=2, n=3, k=2)
    requests, result = play(program, failed + done + hops + last)

    plain = f"{NILES}Answer: Sea\n\n\n"
    assert requests[:5] == [
        Generate(f"{INTRO}{plain}{CAIRO}{STEPS}", END, 200),
        Retrieve("Cairo", 2),
        Generate(f"{INTRO}{plain}{SHOWN}{CAIRO}{STEPS}", END, 200),
        Retrieve("Sea", 2),
        Generate(f"{OUTRO}{plain}{SHOWN}Summary: No.\n{CAIRO}{STEPS}", END, 200),
    ]
    other = f"{CAIRO}Answer: Red Sea\n\n\n"
    assert requests[5:10] == [
        Generate(f"{INTRO}{other}{NILES}{STEPS}", END, 200),
        Retrieve("Nile", 2),
        Generate(f"{INTRO}{other}{SHOWN}{NILES}{STEPS}", END, 200),
        Retrieve("Nile sea", 2),
        Generate(f"{OUTRO}{other}{SHOWN}Summary: B.\n{NILES}{STEPS}", END, 200),
    ]
    one = f"{other}{NILES}{STEPS} A.\nSearch Query: Nile\n\n\n"
    two = f"{other}{SHOWN}{NILES}{STEPS} B.\nSearch Query: Nile sea\n\n\n"
    nairobi = "Wikipedia Title: Nairobi\nNairobi is Kenya's capital.\n\n"
    again = f"{INTRO}{two}{nairobi}{SHOWN}{ASKED}{STEPS}"  # Nairobi first: two found it
    assert requests[10:18] == [
        Sample(f"{INTRO}{one}{ASKED}{STEPS}", 2, 0.7, END, 200),
        Retrieve("capital", 15),  # the most probable first
        Retrieve("Kenya", 15),
        Retrieve(QUESTION.text, 15),
        Sample(again, 2, 0.7, END, 200),
        Generate(f"{again} F is long.\nSearch Query:", LINE, 200),
        Retrieve("Ann", 15),
        Retrieve(QUESTION.text, 15),
    ]
    three = f"{other}{SHOWN}Summary: B.\n{NILES}{STEPS} C.\nAnswer: the Sea\n\n\n"
    ann = "Wikipedia Title: Ann\nAnn leads Nairobi.\n\n"
    end = f"{OUTRO}{three}{ann}{nairobi}Summary: F is long.\n{ASKED}{STEPS}"
    assert requests[18:] == [Sample(end, 3, 0.7, END, 200)]
    assert (result.answer, result.reading, result.fault) == ("Ann.", "H.\nAnswer: Ann.", "")
    assert result.paragraphs == (NAIROBI, NILE, ANN)
    assert result.thoughts == ("E.\nSearch Query: capital", "F is long.\nSearch Query: Ann")


def test_from_the_third_hop_on_a_search_shows_what_the_one_before_wrote():
    prompts = writers("dsp", "demonstrate", "search", "predict")
    replies = [f"Hop {n}.\nSearch Query: {n}" for n in (1, 2, 3)]
    replies = [reply for text in replies for reply in (text, (NILE,))]
    program = dsp(QUESTION, prompts=prompts, hops=3, queries=1, n=1)
    requests, _ = play(program, [*replies, "So.\nAnswer: Ann"])
    shown = [request.prompt for request in requests if isinstance(request, Generate)]
    summaries = [re.findall("Summary: (.*)", prompt) for prompt in shown]
    assert summaries == [[], [], ["Hop 2."], ["Hop 3."]]


def test_without_examples_and_without_an_answer():
    prompts = writers("dsp", "demonstrate", "search", "predict")
    replies = [drawn("", ""), "", (), (), drawn("Hm."), ""]
    requests, result = play(dsp(QUESTION, prompts=prompts, hops=1, queries=2), replies)
    assert requests[-1] == Generate(f"{OUTRO}{ASKED}{STEPS} Hm.\nAnswer:", LINE, 200)
    assert (result.answer, result.paragraphs, result.fault) == ("", (), "no answer")


def test_the_question_asked_is_no_example():
    prompt = f"{FIRST}\n\n\n{SECOND}\n\n\nQuestion: New?\nAnswer:"
    assert read_pairs(prompt, "Sea of Cairo?") == [("Sea of the Nile?", "Sea")]


def test_every_example_is_a_pair():
    pairs = read_pairs("\n\n\n".join(own_demonstrations("dsp", "demonstrate", "multihop")), "")
    assert len(pairs) == 16 and pairs[1][1] == "Moby-Dick"
