"""Tiny random models and tokenizers, for tests of decoding and of folders."""

import json
import random
import shutil
from pathlib import Path
from string import ascii_lowercase, digits

import torch
import transformers as hf
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

Fast = hf.PreTrainedTokenizerFast
SYLLABLES = ["ka", "lo", "mi", "ra", "ten", "su", "vor", "del", "in", "os"]
LIMIT = 128  # tokens that a causal model reads and writes


def made_up_words(count=300):
    """Random words, many of which end a sentence, seem to end one, or end a line."""
    rng, words = random.Random(1), {}
    while len(words) < count:
        word = "".join(rng.choices(SYLLABLES, k=rng.randint(1, 3)))
        ended = [f"{word}{end}" for end in ".?!,\n"]
        forms = [word, word.capitalize(), *ended, "Dr.", "U.S."]
        words[rng.choice(forms)] = None
    return list(words)


def prompts(count=16, longest=25):
    rng = random.Random(3)
    words = [word.strip() for word in made_up_words()]
    lengths = (rng.randint(1, longest) for _ in range(count))
    return [" ".join(rng.choices(words, k=length)) for length in lengths]


def bert_vocabulary() -> dict[str, int]:
    """The numbers of some words and of all letters."""
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    text = "who when did open ##ed the park in 19 ##75 ##76 it lies near brussels wal "
    words = (text + "##ibi eddy mee").split()
    letters = ascii_lowercase + digits + ".?,'"
    pieces = [piece for letter in letters for piece in (letter, f"##{letter}")]
    return number([*special, *words, *pieces])


def number(words) -> dict[str, int]:
    return {word: place for place, word in enumerate(dict.fromkeys(words))}


def word_tokenizer():
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    words = number([*special.values(), *made_up_words()])
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return Fast(tokenizer_object=tokenizer, **special)


def byte_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<end>"],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([" ".join(made_up_words())], trainer)
    return Fast(tokenizer_object=tokenizer, eos_token="<end>")


# fmt: off
T5 = {
    "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 2,
    "initializer_factor": 4.0,
    "decoder_start_token_id": 0, "tie_word_embeddings": False,
}
GPT2 = {
    "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": LIMIT,
    "initializer_range": 0.5,
    "bos_token_id": 0, "eos_token_id": 0, "tie_word_embeddings": False,
}
LLAMA = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": LIMIT, "initializer_range": 0.3,
    "bos_token_id": 1, "eos_token_id": [1, 7],
}
# fmt: on
# sizes, tokenizer, and how much likelier the end is made: some texts have one
KINDS = {
    "t5": (T5, word_tokenizer, 3.0),
    "gpt2": (GPT2, byte_tokenizer, 1.5),
    "llama": (LLAMA, word_tokenizer, 1.5),
}


def save(kind: str, folder: Path) -> None:
    """Write a tiny model of a kind with save_pretrained."""
    sizes, make_tokenizer, ending = KINDS[kind]
    torch.manual_seed(3)
    tokenizer = make_tokenizer()
    config = hf.AutoConfig.for_model(kind, vocab_size=len(tokenizer), **sizes)
    auto = hf.AutoModelForSeq2SeqLM if kind == "t5" else hf.AutoModelForCausalLM
    model = auto.from_config(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "relative_attention_bias" in name:
                torch.nn.init.normal_(weight, std=3)
        model.lm_head.weight[tokenizer.eos_token_id] *= ending
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def bert_config(kind, layers: int):
    """A small BERT; its weights spread, so that decisions are clear. Seeds torch."""
    torch.manual_seed(0)
    return kind(
        vocab_size=len(bert_vocabulary()),
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32 * layers,
        initializer_range=0.5,
    )


def save_bert(folder):
    """Save an untrained BERT with tokens for letters."""
    hf.BertModel(bert_config(hf.BertConfig, layers=1)).save_pretrained(folder)
    hf.BertTokenizer(vocab=bert_vocabulary()).save_pretrained(folder)
    return folder


def small_reader() -> hf.DPRReader:
    """An untrained DPR reader whose logits are far apart."""
    return hf.DPRReader(bert_config(hf.DPRConfig, layers=2)).eval()


def save_reader(folder) -> Path:
    hf.DPRReaderTokenizerFast(vocab=bert_vocabulary()).save_pretrained(folder)
    small_reader().save_pretrained(folder)
    return folder


def save_older_reader(folder, older) -> Path:
    """The reader laid out as the paper's on the hub, with weights that are not used."""
    weights = load_file(folder / "model.safetensors")
    older.mkdir(exist_ok=True)
    (older / "vocab.txt").write_text("\n".join(bert_vocabulary()) + "\n")
    (older / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    shutil.copy(folder / "config.json", older)
    bert = "span_predictor.encoder.bert_model"
    weights[f"{bert}.pooler.dense.weight"] = torch.ones(32, 32)
    weights[f"{bert}.pooler.dense.bias"] = torch.ones(32)
    weights[f"{bert}.embeddings.position_ids"] = torch.arange(512)[None]
    torch.save(weights, older / "pytorch_model.bin")
    return older


def copy(folder, target) -> Path:
    return Path(shutil.copytree(folder, target / "copy"))


def change(path, **values):
    """Change fields of a JSON file; None removes a field."""
    content = json.loads(path.read_text()) | values
    kept = {name: value for name, value in content.items() if value is not None}
    path.write_text(json.dumps(kept))
