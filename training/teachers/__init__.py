"""What the agent should write at each stage of each system: a short function a stage, by
"module/stage".
"""

from training.teachers import acting, asking, closed, evidence, planning, reading, searching, trees

TEACHERS = {}
for _module in (acting, asking, closed, evidence, planning, reading, searching, trees):
    TEACHERS |= _module.STAGES
