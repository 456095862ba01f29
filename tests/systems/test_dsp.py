"""DSP, with replies by hand."""

import re

from replying import drawn, send, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Retrieve, Sample
from ircotlib.systems.dsp import dsp

QUESTION = Question("q", "Who leads Kenya's capital?", ("Ann",), (), "test")
FIRST = "Question: Sea of Cairo?\nAnswer: Red Sea"
SECOND = "Question: Sea of the Nile?\nAnswer: Sea"
PROMPTS = writers(
    "dsp", "demonstrate", "search", "predict", demonstrations=(FIRST, SECOND)
)
PROMPTS |= writers("dsp", "search", "predict")
NAIROBI = Paragraph("n", "Nairobi", "Nairobi is Kenya's capital.")
NILE = Paragraph("s", "Nile", "The Nile flows into the sea.")
ANN = Paragraph("a", "Ann", "Ann leads Nairobi.")
END, STEPS = ("\n\n",), "Rationale: Let's think step by step."
TO_FIND = " To answer this question, we first need to find out"
LEARNED = " Based on the context, we have learned the following."
LABEL = "Context:\n"
RULE = "\n\n---\n\n"
FORM = f"Follow the following format.\n\n{{}}Question: ${{{{the question}}}}\n{STEPS}"
SEARCH = (
    f"Write a search query that helps to answer the question.{RULE}{FORM}{{}} {{}}\n"
)
SEARCH += (
    f"Search Query: ${{{{a simple question that asks for what is missing}}}}{RULE}"
)
INTRO = SEARCH.format("", TO_FIND, "${what is missing}")
CONTEXT = f"{LABEL}${{paragraphs that may help, each under its title}}\n\n"
HOP = SEARCH.format(CONTEXT, LEARNED, "${what helps in the context}")
PREDICT = FORM.format(
    f"{CONTEXT}Summary: ${{what was learned from other paragraphs, if any}}\n"
)
PREDICT += f" ${{steps that lead to the answer}}\nAnswer: ${{a short answer}}{RULE}"
OUTRO = f"Answer the question with a short answer.{RULE}"
NAIROBIS = "Wikipedia Title: Nairobi\nNairobi is Kenya's capital.\n\n"
NILE_IS = "Wikipedia Title: Nile\nThe Nile flows into the sea.\n\n"
ANN_IS = "Wikipedia Title: Ann\nAnn leads Nairobi.\n\n"
ASKED = "Question: Who leads Kenya's capital?\n"
CAIRO, NILES = "Question: Sea of Cairo?\n", "Question: Sea of the Nile?\n"


def test_it_demonstrates_searches_twice_and_predicts():
    failed = ["It is.\nSearch Query: Cairo", (NILE,), "No.\nSearch Query: Sea", (NILE,)]
    failed += ["So.\nAnswer: Red Sea"]  # no paragraph has it
    done = ["A.\nSearch Query: Kenya", (NAIROBI,), "B.\nSearch Query: Nile sea"]
    done += [(NILE, NAIROBI), "C.\nAnswer: the Sea"]
    hops = [
        drawn(
            "D.\nSearch Query: Kenya", "E.\nSearch Query: capital", scores=[-2.0, -1.0]
        )
    ]
    hops += [(NILE, NAIROBI), (NAIROBI,), (), drawn("", "F.", "F is long.")]
    hops += ["Ann", (ANN,), (ANN, NAIROBI)]
    last = [drawn("G.\nAnswer: Bo", "H.\nAnswer: Ann.", "I.\nAnswer: ann")]
    program = dsp(QUESTION, prompts=PROMPTS, annotated=1, queries=2, n=3, k=2)
    requests, result = send(program, failed + done + hops + last)

    # no search shows a pair; a prediction does, above its format
    pair = f"{NILES}Answer: Sea{RULE}"
    assert requests[:5] == [
        Generate(f"{INTRO}{CAIRO}{STEPS}{TO_FIND}", END, 150),
        Retrieve("Cairo", 2),
        Generate(f"{HOP}{LABEL}{NILE_IS}{CAIRO}{STEPS}{LEARNED}", END, 150),
        Retrieve("Sea", 2),
        Generate(f"{OUTRO}{pair}{PREDICT}{LABEL}{NILE_IS}{CAIRO}{STEPS}", END, 150),
    ]
    pair = f"{CAIRO}Answer: Red Sea{RULE}"
    # those of the first hop are kept, and there is no summary
    both = LABEL + NAIROBIS + NILE_IS
    assert requests[5:10] == [
        Generate(f"{INTRO}{NILES}{STEPS}{TO_FIND}", END, 150),
        Retrieve("Kenya", 2),
        Generate(f"{HOP}{LABEL}{NAIROBIS}{NILES}{STEPS}{LEARNED}", END, 150),
        Retrieve("Nile sea", 2),
        Generate(f"{OUTRO}{pair}{PREDICT}{both}{NILES}{STEPS}", END, 150),
    ]
    one = f"{NILES}{STEPS}{TO_FIND} A.\nSearch Query: Kenya{RULE}"
    two = f"{LABEL}{NAIROBIS}{NILES}{STEPS}{LEARNED} B.\nSearch Query: Nile sea{RULE}"
    # Nairobi is first: two queries found it
    again = f"{HOP}{two}{LABEL}{NAIROBIS}{NILE_IS}{ASKED}{STEPS}{LEARNED}"
    assert requests[10:18] == [
        Sample(f"{INTRO}{one}{ASKED}{STEPS}{TO_FIND}", 2, 0.7, END, 150),
        Retrieve("capital", 15),  # the most probable first
        Retrieve("Kenya", 15),
        Retrieve(QUESTION.text, 15),
        Sample(again, 2, 0.7, END, 150),
        Generate(f"{again} F.\nSearch Query:", LINE, 75),  # the first that got farthest
        Retrieve("Ann", 15),
        Retrieve(QUESTION.text, 15),
    ]
    three = f"{both}{NILES}{STEPS} C.\nAnswer: the Sea{RULE}"
    shown = f"{pair}{PREDICT}{three}{LABEL}{ANN_IS}{NAIROBIS}Summary: F.\n"
    assert requests[18:] == [Sample(f"{OUTRO}{shown}{ASKED}{STEPS}", 3, 0.7, END, 150)]
    assert (result.answer, result.reading) == ("Ann.", "H.\nAnswer: Ann.")
    assert result.fault == ""
    assert result.paragraphs == (NAIROBI, NILE, ANN)
    assert result.thoughts == ("E.\nSearch Query: capital", "F.\nSearch Query: Ann")


def test_from_the_third_hop_on_a_search_shows_what_the_one_before_wrote():
    prompts = writers("dsp", "demonstrate", "search", "predict")
    replies = [f"Hop {n}.\nSearch Query: {n}" for n in (1, 2, 3)]
    replies = [reply for text in replies for reply in (text, (NILE,))]
    program = dsp(QUESTION, prompts=prompts, hops=3, queries=1, n=1)
    requests, _ = send(program, [*replies, "So.\nAnswer: Ann"])
    shown = [request.prompt for request in requests if isinstance(request, Generate)]
    summaries = [re.findall("^Summary: (Hop.*)$", prompt, re.M) for prompt in shown]
    assert summaries == [[], [], ["Hop 2."], ["Hop 3."]]
