"""Attention of T5 encoders for training on a CPU: in half precision throughout, and with few passes
over the matrix of weights.

In models as small as these the matrices of rows x heads x length x length take most of the time.
The bias is one matrix for all rows.
"""

import torch
from transformers import AttentionInterface, AttentionMaskInterface

from ircotlib.generation.decode import padding_column


class _Attention(torch.autograd.Function):
    """Attention with a position bias, heads x queries x keys, and a padding column, rows x 1 x
    keys; returns the states and the weights.
    """

    @staticmethod
    def forward(ctx, query, key, value, bias, padding):
        weights = query @ key.mT
        weights += bias.to(weights.dtype)
        if padding is not None:
            weights += padding[:, None].to(weights.dtype)
        weights = torch.softmax(weights, -1)
        ctx.save_for_backward(query, key, value, weights)
        ctx.bias = bias.dtype
        ctx.set_materialize_grads(False)
        return weights @ value, weights

    @staticmethod
    def backward(ctx, states_gradient, weights_gradient):
        query, key, value, weights = ctx.saved_tensors
        scores = states_gradient @ value.mT
        value_gradient = weights.mT @ states_gradient
        if weights_gradient is not None:
            scores += weights_gradient
        scores = torch.ops.aten._softmax_backward_data(scores, weights, -1, weights.dtype)
        return (
            scores @ key,
            scores.mT @ query,
            value_gradient,
            scores.sum(0, keepdim=True).to(ctx.bias),
            None,
        )


def teaching_attention(
    module, query, key, value, mask, *, position_bias=None, **_
) -> tuple[torch.Tensor, torch.Tensor]:
    """What transformers calls; the weights stay in `module.weights` for the losses that look at
    them.
    """
    states, module.weights = _Attention.apply(
        *(part.bfloat16() for part in (query, key, value)), position_bias, mask
    )
    return states.to(query.dtype).transpose(1, 2).contiguous(), module.weights


AttentionInterface.register("teaching", teaching_attention)
AttentionMaskInterface.register("teaching", padding_column)
