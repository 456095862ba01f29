"""Systems' programs on a bench: which prompt writers, reader and settings each gets."""

from collections.abc import Callable, Mapping
from functools import cache, partial

from ircotlib.data import Question
from ircotlib.errors import UserError
from ircotlib.program import Program, Purposed, with_purpose
from ircotlib.running.bench import Bench
from ircotlib.systems import System, WritePrompt
from ircotlib.systems.main_passage import with_main_passage
from ircotlib.systems.readers import READER, READERS


def program_of(
    bench: Bench, system: System, *, demonstration_set: int = 0, **setting
) -> Callable[[Question], Program]:
    """The program of a system with a setting (IRCoT §4.1: K, M), to be called with a question. For
    one with a main passage it searches pages that the model has named first (IRCoT App. B).

    A model may have `listen(question, system)`, for replies that depend on more than the prompt: of
    what it returns, `writer(module, stage, write)` is the prompt writer in place of `write`, and
    `follow(program)` the program in place of `program`.
    """
    check_setting(system, setting)
    m = setting.pop("m", bench.default_m)  # distractors (IRCoT §4.1: M)
    prompt = cache(partial(bench.prompt, m=m, demonstration_set=demonstration_set))
    own = partial(bench.prompt, m=m, demonstration_set=demonstration_set, system=system)
    written = {stage: own(stage) for stage in system.stages}
    kind = bench.parameters.reader  # direct for Flan-T5, cot for GPT3 (IRCoT App. E)
    max_tokens = bench.style.generation_tokens
    listen = getattr(bench.model, "listen", None)
    examples = system.count_examples(bench.dataset)
    ambient = {
        **bench.ambient,
        **bench.tokens(system),
        **system.draw_at_most(bench.parameters.samples),
    }
    ambient |= {} if examples is None else {"examples": examples}

    def program(question: Question) -> Program:
        heard = listen(question, system) if listen else None
        writer = heard.writer if heard else lambda module, stage, write: write

        def read(question, paragraphs):
            write = state_purpose(READER, kind, writer(READER.folder, kind, prompt(kind)))
            return READERS[kind](question, paragraphs, prompt=write, max_tokens=max_tokens)

        prompts = {
            stage: state_purpose(system, stage, writer(system.folder, stage, write))
            for stage, write in written.items()
        }
        offered = {"prompts": prompts, "read": read, **ambient}
        arguments = {name: value for name, value in offered.items() if system.takes(name)}
        play = system.program(question, **(arguments | setting))
        play = heard.follow(play) if heard else play
        if question.passage is None:  # all but IIRC (IRCoT App. B)
            return play

        def ask_for_titles():
            return state_purpose(
                READER, "titles", writer(READER.folder, "titles", prompt("titles"))
            )

        return with_main_passage(question, play, ask_for_titles, max_tokens=max_tokens)

    return program


def state_purpose(system: System, stage: str, write: WritePrompt) -> WritePrompt:
    """A prompt writer of a stage of a system whose prompts say what they are for."""

    def write_with_purpose(*shown, **fields) -> Purposed:
        return with_purpose(write(*shown, **fields), system.purpose(stage))

    return write_with_purpose


def check_setting(system: System, setting: Mapping) -> None:
    """Raise UserError if a setting has a keyword that the program of a system does not take."""
    given = {"question", "prompts", "read"}  # by the bench
    taken = [name for name in ("m", *system.defaults) if name not in given]
    if unknown := [name for name in setting if name not in taken]:
        found = f"found {unknown[0]}={setting[unknown[0]]!r} for {system.name}"
        raise UserError(f"{found}, expected some of {', '.join(taken)} and demonstration_set")
