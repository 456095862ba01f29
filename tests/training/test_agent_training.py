"""Training the agent: its losses, and a model that grows."""

import pytest

torch = pytest.importorskip("torch")

from training.agent import learn
from training.agent import model as models
from training.agent.encode import MADE_UP
from training.agent.learn import AgentRecipe, draw_chunk, learn_agent, start_agent
from training.agent.words import make_agent_tokenizer
from training.causal import writing_loss

# the losses that a batch may have, besides those of writing and of looking
PARTS = {"stated", "decided", "inferred", "comparing", "concluding"}
PARTS |= {"recalling", "weighing"}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make transcripts few and short, so that steps are fast."""
    torch.set_num_threads(1)
    for name, value in {"CHUNK": 3, "TOKENS": 400, "TURNS": 2, "LONGEST": 200}.items():
        monkeypatch.setattr(learn, name, value)


def test_a_grown_agent_writes_what_the_smaller_one_writes(tmp_path, monkeypatch):
    ids, tokenizer = torch.arange(30, 60)[None], make_agent_tokenizer()
    monkeypatch.setattr(models, "LAYERS", 4)
    small = models.make_agent_model(tokenizer, 0)
    small.save_pretrained(tmp_path)
    monkeypatch.setattr(models, "LAYERS", 6)
    grown = models.make_agent_model(tokenizer, 1, str(tmp_path))
    assert grown.config.num_hidden_layers == 6
    torch.testing.assert_close(grown(ids).logits, small(ids).logits)


def test_the_losses_fall_and_made_up_tokens_weigh_less():
    recipe = AgentRecipe(100, 0, 0.01)
    training, [batch, *_] = start_agent(recipe), draw_chunk(3, recipe)
    parts = [learn_agent(training, batch, 0.005) for _ in range(12)]
    # another value means that the model, its transcripts or its losses have changed
    assert sum(parts[0].values()) == pytest.approx(19.037, rel=1e-2)
    assert parts[-1]["writing"] < 0.8 * parts[0]["writing"]
    assert parts[-1]["looking"] < parts[0]["looking"]
    assert set(parts[0]) - PARTS == {"writing", "looking"}
    logits, token = torch.tensor([[4.0, 0.0], [4.0, 0.0]]), torch.tensor([0, 1])
    light = writing_loss(logits, token, torch.tensor([1.0, MADE_UP]))
    assert light < writing_loss(logits, token, None)
