"""The benchmarks, a module each; `make bench` runs those of speed."""

import time
from collections.abc import Callable
from typing import Any


def timed(action: Callable) -> tuple[Any, float, float]:
    """What an action returns, its wall seconds, and this process's CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return result, time.perf_counter() - wall, time.process_time() - cpu
