"""The learning rate of a training."""


def learning_rate(
    step: int, steps: int, peak: float, warm_up: int, flat: float
) -> float:
    """The learning rate of a step: it rises over `warm_up` steps, is the peak up to the
    share `flat` of all steps, and then falls linearly to 2% of the peak.
    """
    falling = 1 - 0.98 * (step / steps - flat) / (1 - flat)
    return peak * min(1.0, (step + 1) / warm_up, max(0.02, falling))
