"""The laboratory: a fictional encyclopedia, questions about it worded as in nine data
sets, and worked examples, all drawn from a seed. It writes files in the official
formats, which the data sets' own loaders read. No model is needed.

    from ircot_laboratory.make import make_dataset, make_laboratory
    make_laboratory(folder, seed=0)           # files of all data sets, and prompts
    world, riddles = make_dataset("musique")  # the same pages and questions as records

    from ircot_laboratory.world.encyclopedia import make_world
    from ircot_laboratory.questions.questions import DATASETS, draw_riddle, make_riddles
    from ircot_laboratory.questions.worked import work_out   # a question, step by step
    from ircot_laboratory.judge.laboratory_facts import judge  # is a sentence true?
    from training.teachers.play import play_system   # replies as of a careful reader

Its packages, each built on those before it: world, questions, official (with make),
judge.
"""
