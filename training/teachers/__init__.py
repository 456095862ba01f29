"""The teachers: for each stage of each system, a short function that writes what a
careful reader replies (mind.Reply) to a prompt (mind.Situation) from what it believes
(mind.Mind). TEACHERS has them by "module/stage"; play_system runs a system's own
program with them on a Library.
"""

from training.teachers import (
    acting,
    asking,
    closed,
    evidence,
    planning,
    reading,
    searching,
    trees,
)

TEACHERS = {
    "auto_cot/ask": closed.cot_cot,
    "auto_cot/chain": closed.auto_cot_chain,
    "cot/cot": closed.cot_cot,
    "decomp/decompose": asking.decomp_decompose,
    "decomp/multihop": asking.decomp_multihop,
    "decomp/singlehop": asking.decomp_singlehop,
    "direct/direct": closed.direct_direct,
    "direct/read": closed.direct_direct,
    "dsp/predict": evidence.dsp_predict,
    "dsp/search": evidence.dsp_search,
    "interaug/read": evidence.interaug_read,
    "ircot/cot": reading.ircot_cot,
    "ircot/direct": closed.direct_direct,
    "least_to_most/decompose": planning.least_to_most_decompose,
    "least_to_most/solve": planning.least_to_most_solve,
    "plan_and_solve/read": planning.plan_and_solve_read,
    "plan_and_solve/solve": planning.plan_and_solve_solve,
    "react/act": acting.react_act,
    "react/cot": closed.cot_cot,
    "recite/answer": closed.recite_answer,
    "recite/recite": closed.recite_recite,
    "searchain/chain": searching.searchain_chain,
    "searchain/without_ir": searching.searchain_without_retrieval,
    "self_ask/ask": asking.self_ask_ask,
    "self_ask/read": asking.self_ask_read,
    "toolformer/write": asking.toolformer_write,
    "tree_of_thought/propose": trees.tree_of_thought_propose,
    "tree_of_thought/vote": trees.tree_of_thought_vote,
    "verify_and_edit/answer": evidence.verify_and_edit_answer,
    "verify_and_edit/cot": evidence.verify_and_edit_cot,
    "verify_and_edit/question": evidence.verify_and_edit_question,
}
