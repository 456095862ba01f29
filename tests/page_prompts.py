"""Prompts about a laboratory's pages, for tests of models that read them."""

from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.generation.local import LocalModel
from ircotlib.prompting.prompt import FLAN_T5, GPT3
from training.t5.evaluate import draw_reading_test


def draw_prompts(local: LocalModel) -> list[str]:
    """Eight prompts of different lengths, in the style of a model."""
    style = FLAN_T5 if local.is_encoder_decoder else GPT3
    world = make_world(11, 300, "hotpotqa")
    tests = [draw_reading_test(world, "hotpotqa", n, 4, n, style) for n in (0, 1)]
    return [example.prompt for drawn in tests for _, example in drawn]
