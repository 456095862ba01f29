"""Checks, before any notebook starts, the models of the parameters by their config.json: they are
there, of the kind that is needed, and wide enough. No weights are read or downloaded.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.files.models import (
    CAUSAL,
    CONFIG,
    CROSS_ENCODER,
    READER,
    T5,
    check_kind,
    find_kind,
    read_json,
)
from ircotlib.files.paths import resolve
from ircotlib.parameters import SIMULATED, Parameters
from ircotlib.prompting.prompt import GPT3, STYLES
from ircotlib.retrieval import model_of

LANGUAGE = T5, CAUSAL


def check_models(p: Parameters, model: bool, models: bool, second: bool) -> None:
    """Check all models of the parameters except encoders; those that a server has are not. `model`,
    `models`, `second`: look on the hub for the model, those of 06_scale, and the second model.
    """
    if not p.server:
        check_window(p, "model", p.model, check_model("model", p.model, LANGUAGE, model))
        for name in p.models:
            check_window(p, "models", name, check_model("models", name, LANGUAGE, models))
        check_model("agent", p.agent, LANGUAGE)
        check_model("second_model", p.second_model, LANGUAGE, second)
    check_model("extractor", p.extractor, (READER,))
    check_model("duplicates", p.duplicates, (CROSS_ENCODER,))


def check_model(
    parameter: str, name: str, kinds: Sequence[str], hub: bool = False, file: str | None = CONFIG
) -> Path | None:
    """The folder of a model, or of its files in the hub's cache; None if it has none. `kinds`: as
    of `check_kind`; (): any. Raises UserError if it is neither a folder that holds `file` nor a
    name of the hub, or of another kind. `hub`: raise Unavailable if neither the hub nor its cache
    has it.
    """
    folder = Path(resolve(name))
    if name in ("", SIMULATED):
        return None
    if not folder.is_dir() or (file is not None and not (folder / file).is_file()):
        if folder.exists() or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
            lacking = f"no {file} in {folder}" if folder.is_dir() else f"no folder {folder}"
            expected = "expected a folder of a model, or a name on the Hugging Face hub"
            raise UserError(f"{parameter}: found {lacking}, {expected}: see docs/models.md")
        folder = _find_on_hub(parameter, name, hub)
    if folder and kinds:
        try:
            check_kind(folder, *kinds)
        except DataError as error:
            raise UserError(f"{parameter}: {error}") from None
    return folder


def _find_on_hub(parameter: str, name: str, hub: bool) -> Path | None:
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(path := try_to_load_from_cache(name, CONFIG), str):
        return Path(path).parent
    try:
        if hub:
            HfApi().model_info(name, timeout=2.5)
    except Exception as error:  # the library raises its own errors and those of two HTTP clients
        reason = " ".join(str(error).split())[:200]
        missing = f"found no folder {name!r}, and the Hugging Face hub gives no such model"
        give = "give a folder, or a name on the hub with a network connection"
        raise Unavailable(f"{parameter}: {missing} ({reason}); {give}") from None
    return None


def check_encoder_of(retriever: str) -> None:
    """Raise UserError or Unavailable if the model of a retriever, if any, is not there, or is not
    an encoder of the kind that the retriever takes.
    """
    from ircotlib.retrieval.encoder import check_encoder

    if not (name := model_of(retriever)):
        return
    if folder := check_model("retriever", name, (), hub=True, file=None):
        try:
            check_encoder(name, folder, late=retriever.startswith("colbert:"))
        except DataError as error:
            raise UserError(f"retriever: {error}") from None


def style_of(p: Parameters, folder: Path | None) -> str:
    """How a model of 06_scale is prompted: a causal one as GPT3 (IRCoT §4.1)."""
    return GPT3.name if folder and find_kind(folder) == CAUSAL else p.style


def check_window(p: Parameters, parameter: str, name: str, folder: Path | None) -> None:
    """Raise UserError if a model reads fewer tokens than its prompts may have. One whose
    configuration says no limit has none; T5 never has one.
    """
    style = style_of(p, folder) if parameter == "models" else p.style
    window, config = p.context_tokens or STYLES[style].context_tokens, {}
    if folder and find_kind(folder) == CAUSAL:
        config = read_json(folder, CONFIG)
    limit = config.get("max_position_embeddings", config.get("n_positions"))
    if isinstance(limit, int) and limit < window:
        found = f"found a window of {window} for {name}, which reads at most {limit}"
        raise UserError(f"context_tokens: {found}, expected at most that: set context_tokens")
