"""Words the inputs in official files as questions."""

from ircotlib.errors import DataError

SEPARATOR = " [SEP] "  # between the subject and the relation of zsRE's and T-REx's inputs


def ask_relation(text: str) -> str:
    """The question for "subject [SEP] relation", in a wording of ours; else ValueError."""
    subject, separator, relation = text.partition(SEPARATOR)
    if not (subject.strip() and separator and relation.strip()):
        raise DataError(f"expected 'subject{SEPARATOR}relation', found {text!r:.60}")
    return f"What is the {relation.strip()} of {subject.strip()}?"


def state_relation(subject: str, relation: str, value: str) -> str:
    """The value of a subject's relation as a sentence (ours)."""
    return f"The {relation} of {subject} is {value.removesuffix('.')}."


def ask_claim(claim: str) -> str:
    """A claim as a question (SearChain, Appendix: its prompt for FEVER)."""
    return f"Is it true that {claim.strip().rstrip('.')} (SUPPORTS or REFUTES)?"


def ask_yes_or_no(question: str) -> str:
    """A question of StrategyQA as SearChain words it (Appendix: its prompt for StrategyQA)."""
    return f"{question.strip()} (Yes or No)"
