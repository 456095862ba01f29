"""Makes the shipped models: plain T5s and a plain causal model, which read the laboratory's pages,
an extractive reader, and an agent that plays every system.

No run imports this package. It needs nothing but the laboratory: training data are drawn on the
fly, from worlds whose names never occur where models are measured.

    python -m training.t5 --size base --out FOLDER
    python -m training.t5 --size large --start FOLDER --steps 3000 --peak 0.003 --out LARGER
    python -m training.t5 --size causal --steps 9000 --peak 0.003 --out CAUSAL
    python -m training.agent --out AGENT

On one CPU core the first command takes ten minutes, the second twelve, the third an hour and a
half; growing to xl takes forty minutes, and from there to xxl eighty more. If a training is
interrupted, run the same command again: it resumes from its checkpoint, at most two minutes old.
The folder of each model also holds training.json (how the model was made, and how long that took)
and training.jsonl (the training curves).

    train.py      the command that trains a T5 or the causal model; learn.py: its training
    checkpoint.py the loop over the steps of every training; checkpoints, also at Ctrl-C; the files
                  of the trained model
    recipe.py     the learning rate, worlds and examples of each step
    draws.py      draws questions, paragraphs, demonstrations, and chains that are partly written
    examples.py   writes them as prompt and target; places.py finds where each word comes from
    encode.py     examples as tensors; teach.py: the losses that teach a T5 to read them
    causal.py     the causal model; causal_encode.py: its tensors; causal_teach.py: its losses
    model.py      the T5s and the tokenizer; attention.py: faster attention for training;
                  grow.py: widens a trained T5
    evaluate.py   measures how well a model reads
    reader.py     the command that trains the extractive reader; reader_learn.py: its training;
                  reader_draws.py: its examples; reader_model.py: its model and losses;
                  evaluate_reader.py: how well it reads
    agent.py      the command that trains the agent, which plays every system (docs/agent.md);
                  agent_learn.py: its training
    teachers/     the replies that the agent should give at each stage of each system
    agent_mind.py what the agent believes while it answers: read, known by heart, or made up;
                  agent_conclusions.py: what follows from values that a question compares
    agent_play.py plays a system's own program with a teacher's replies; agent_library.py: the
                  training world it is played on, with retrieval as in a run; agent_auto_cot.py: the
                  same for Auto-CoT
    agent_transcripts.py: turns joined to sequences; agent_sources.py: where each word of them
                  comes from; agent_encode.py: these as tensors
    agent_draws.py draws which system plays which question; agent_lessons.py: lists of facts to
                  learn by heart; agent_drills.py: comparisons, and answers given at once
    agent_model.py, agent_words.py, muon.py: the agent's model, tokenizer and optimizer
    evaluate_agent.py: the command that measures how well the agent plays, stage by stage and
                  in closed loop; agent_stages.py: its measures
"""
