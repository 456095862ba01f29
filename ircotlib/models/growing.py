"""The keys and values of a layer, with room to grow; shapes as in causal.py."""

import torch
from torch.nn.functional import pad
from transformers.cache_utils import DynamicLayer

ROOM = 64  # columns by which a cache grows at once


class GrowingLayer(DynamicLayer):
    """Keys and values with spare room, so that a token is added without copying the others. Without
    it and `OwnLayer`s, into which groups of prompts are read, the head to head takes 1.2 times as
    long, of which writing 1.18 times, with mini-causal 1.35 times.
    """

    def __init__(self, rows: int, columns: int):
        super().__init__()
        self.rows, self.columns = rows, columns  # at first

    def room(self, keys: torch.Tensor, values: torch.Tensor) -> list[torch.Tensor]:
        """All keys and all values, (B, H, columns and spare room, D); `keys`, `values`: some."""
        if not self.is_initialized:
            self.lazy_initialization(keys, values)
            columns = self.columns + ROOM
            shapes = [(self.rows, like.shape[1], columns, like.shape[3]) for like in (keys, values)]
            self._all = [keys.new_empty(shape) for shape in shapes]
            self._use_columns(self.columns)  # filled by the OwnLayers of groups
        return self._all

    def update(self, key_states, value_states, *args, **kwargs):
        """Add the states of the next column, as DynamicLayer does."""
        columns = self.keys.shape[2]
        if columns == self._all[0].shape[2]:
            self._hold(self.keys, self.values)  # copied once in ROOM tokens
        self._use_columns(columns + 1)
        self.keys[:, :, columns:], self.values[:, :, columns:] = key_states, value_states
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only these rows, as DynamicLayer does; if they only move up to places that become
        free (`close_up`), the others are not copied.
        """
        targets = torch.arange(len(indices), device=indices.device)
        moved = indices != targets  # rows that change their place
        if len(indices) > len(self.keys) or (indices[moved] < len(indices)).any():
            self._hold(self.keys[indices], self.values[indices])
            return
        for states in (self.keys, self.values):
            states[targets[moved]] = states[indices[moved]]
        self._all = [states[: len(indices)] for states in self._all]  # a view: no copy
        self._use_columns(self.keys.shape[2])

    def _hold(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        self._all = [pad(states, (0, 0, 0, ROOM)) for states in (keys, values)]  # T + ROOM
        self._use_columns(keys.shape[2])

    def _use_columns(self, columns: int) -> None:
        self.keys, self.values = (states[:, :, :columns] for states in self._all)  # views


class OwnLayer(DynamicLayer):
    """Some rows of a growing layer, whose prompts, padding included, begin at column `first`."""

    def __init__(self, whole: GrowingLayer, rows: slice, first: int):
        super().__init__()
        self.whole, self.rows, self.first = whole, rows, first

    def update(self, key_states, value_states, *args, **kwargs):
        """Add the states of the next columns, as DynamicLayer does."""
        own = [states[self.rows] for states in self.whole.room(key_states, value_states)]  # views
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            for states in own:  # where other prompts are longer: numbers, though none is looked at
                states[:, :, : self.first] = 0
        columns = self.get_seq_length()  # of these prompts, read so far
        last = self.first + columns + key_states.shape[2]
        self.keys, self.values = (states[:, :, self.first : last] for states in own)
        self.keys[:, :, columns:], self.values[:, :, columns:] = key_states, value_states
        return self.keys, self.values
