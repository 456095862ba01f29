"""The teachers: one short function for each stage of each system gives the reply that the agent
should write. TEACHERS has them by "module/stage".
"""

from ircot_laboratory.teachers import (
    acting,
    asking,
    closed,
    evidence,
    planning,
    reading,
    searching,
    trees,
)

TEACHERS = {}
for _module in (acting, asking, closed, evidence, planning, reading, searching, trees):
    TEACHERS |= _module.STAGES
