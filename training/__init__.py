"""Makes the shipped models: plain T5s, and a plain causal model, that read the laboratory's pages,
and an agent that plays every system.

No run imports this package, and it needs nothing but the laboratory: what it trains on is drawn as
it goes, from worlds whose names never occur where models are measured.

    python -m training.train --size base --out FOLDER
    python -m training.train --size large --start FOLDER --steps 3000 --peak 0.003 --out LARGER
    python -m training.train --size causal --steps 9000 --peak 0.003 --out CAUSAL
    python -m training.agent --out AGENT

On one core of a CPU the first takes ten minutes, the second twelve, the third an hour and a half;
growing to xl takes forty minutes and to xxl eighty more. If interrupted, run the command again: it
goes on from its checkpoint, at most two minutes back. Beside each model, training.json says how it
was made and how long it took, training.jsonl how it went.

    train.py      the command: a training and the model it writes
    checkpoint.py the steps of every training; its checkpoint, also written at Ctrl-C
    recipe.py     what a step is made of: learning rate, worlds, examples
    draws.py      draws questions, paragraphs, demonstrations and chains that have begun
    examples.py   writes them as prompt and target; places.py finds where each word comes from
    encode.py     examples as tensors; teach.py: the losses that teach a T5 to read them
    causal.py     the causal model; causal_encode.py, causal_teach.py: its tensors, its losses
    model.py      the T5s and the tokenizer; attention.py: faster in training; grow.py: widens a T5
    evaluate.py   how well a model reads
    reader.py     the command that trains the extractive reader; reader_draws.py, reader_model.py,
                  evaluate_reader.py: its examples; its model and losses; how well it reads
    agent.py      the command that trains the agent, which plays every system (docs/agent.md)
    teachers/     what it should write at each stage of each system
    agent_mind.py what it believes while it answers: read, known by heart, or made up
    agent_play.py, agent_library.py: a system's own program, played with a teacher's replies on a
                  training world, which retrieves as in a run
    agent_transcripts.py, agent_encode.py: what is played as sequences, and where each word of
                  them comes from
    agent_draws.py, agent_lessons.py: which systems play which questions; facts to know by heart
    agent_model.py, agent_words.py, muon.py: its model, its tokenizer, its optimizer
    evaluate_agent.py: how well it plays, stage by stage and in closed loop
"""
