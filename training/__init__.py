"""Makes the shipped models (docs/models.md). No run imports this package. It needs
nothing but the laboratory: training data are drawn on the fly, from worlds whose names
never occur where models are measured.

    python -m training.t5 --size base --out FOLDER
    python -m training.t5 --size large --start FOLDER --steps 3000 --peak 0.003 --out L
    python -m training.t5 --size causal --steps 9000 --peak 0.003 --out CAUSAL
    python -m training.reader --out READER
    python -m training.agent --out AGENT
    python -m training.agent.evaluate AGENT

On one CPU core the first command takes ten minutes, the second twelve, the third an
hour and a half; growing to xl takes forty minutes, and from there to xxl eighty more.
If a training is interrupted, run the same command again: it resumes from its
checkpoint, at most two minutes old. The folder of each model also holds training.json
(how the model was made, and how long that took) and training.jsonl (the training
curves); for the reader, reading.json and reading.jsonl.

    t5/         plain T5s, and a causal model in place of GPT-3
    reader/     the extractive reader
    agent/      the causal model that writes the replies of every system
    teachers/   what a careful reader replies at each stage of each system
    loop.py     what all trainings share: steps, checkpoints, the files of the model
    causal.py   the attention and the losses of both causal models, some the T5s' too
    positions.py  the tables of positions that the losses need
    words.py    the vocabulary; worlds.py: training worlds; rate.py: the learning rate

In each package, a module draw_… draws examples, encode.py or model.py turns them into
tensors, learn.py trains, and evaluate.py measures.
"""
