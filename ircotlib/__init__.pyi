"""The names of the front door, in groups; `__init__.py` imports each on first use.

Editors and type checkers read this file. What is not here is imported from its module.
"""

# asking a question
from .experiment.runs import answer as answer
from .experiment.runs import answer_all as answer_all
from .explore.ask import ask as ask

# data
from .data import Paragraph as Paragraph
from .data import Prediction as Prediction
from .data import Question as Question
from .datasets import Dataset as Dataset
from .datasets import find_dataset as find_dataset
from .errors import UserError as UserError

# systems, their requests, and what answers are worth
from .metrics import cover_em as cover_em
from .metrics import exact_match as exact_match
from .metrics import majority as majority
from .metrics import squad_f1 as squad_f1
from .program import Duplicate as Duplicate
from .program import Extract as Extract
from .program import Generate as Generate
from .program import LINE as LINE
from .program import NearestTitle as NearestTitle
from .program import Outcome as Outcome
from .program import Program as Program
from .program import Retrieve as Retrieve
from .program import SENTENCE as SENTENCE
from .program import Sample as Sample
from .systems import System as System
from .systems import all_systems as all_systems
from .systems import choose_systems as choose_systems
from .systems import system as system
from .text import answer_from_chain as answer_from_chain

# a model and a retriever of your own
from .models import own_model as own_model
from .retrieval import own_retriever as own_retriever

# running and comparing
from .experiment.compare import compare as compare
from .experiment.compare import run_system as run_system
from .experiment.stored import read_predictions as read_predictions
from .experiment.replay import replay as replay
from .experiment.setup import Setup as Setup
from .experiment.setup import change_model as change_model
from .experiment.setup import open_setup as open_setup
from .parameters import Parameters as Parameters
from .parameters import read_parameters as read_parameters
from .results.runs import find_runs as find_runs
from .results.runs import find_test_runs as find_test_runs
from .results.runs import read_runs as read_runs

# results
from .papers.claims import compare_claims as compare_claims
from .results.figures import draw_dots as draw_dots
from .results.figures import draw_lines as draw_lines
from .results.figures import save_figure as save_figure
from .results.figures import subplots as subplots
from .results.runs import read_reported as read_reported
from .results.runs import join_reported as join_reported
from .results.tables import save_table as save_table
from .results.tables import show_table as show_table
from .results.tables import pivot as pivot
from .results.tables import title_of as title_of
from .results.statistics import describe as describe
from .results.statistics import paired_difference as paired_difference
from .results.statistics import summarise as summarise
