"""Turns texts into vectors with all-MiniLM-L6-v2, a small language model, from its weights alone."""

import json

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer

TOKENS, BATCH = 64, 64


@threadpool_limits.wrap(limits=1)
def vectors(model, texts):
    """One row of length 1 for each text; `model` is the folder with the weights. Only the first 64 tokens count."""
    heads = json.loads((model / "config.json").read_text())["num_attention_heads"]
    weights = load_file(model / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    tokens = [one.ids for one in tokenizer.encode_batch(texts)]
    found = np.zeros((len(texts), weights["embeddings.LayerNorm.bias"].size), np.float32)
    # Texts of similar length together, so that little is spent on gaps.
    order = sorted(range(len(texts)), key=lambda k: (len(tokens[k]), k))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        longest = max(len(tokens[k]) for k in rows)
        batch = np.array([tokens[k] + [0] * (longest - len(tokens[k])) for k in rows])
        mask = np.array([[1] * len(tokens[k]) + [0] * (longest - len(tokens[k])) for k in rows], np.float32)
        hidden = states(weights, heads, batch, mask)
        found[rows] = np.einsum("bth,bt->bh", hidden, mask) / mask.sum(axis=1, keepdims=True)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def states(weights, heads, tokens, mask):
    """The last hidden states of the tokens, by the equations of BERT."""

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def split(x):
        return x.reshape(*tokens.shape, heads, -1).swapaxes(1, 2)

    words, places, kinds = (weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    x = norm("embeddings.LayerNorm", words[tokens] + places[: tokens.shape[1]] + kinds[0])
    hidden = (1 - mask[:, None, None, :]) * np.float32(-1e9)
    layers = {name.split(".")[2] for name in weights if name.startswith("encoder.layer.")}
    for layer in (f"encoder.layer.{k}" for k in range(len(layers))):
        query, key, value = (split(linear(f"{layer}.attention.self.{name}", x)) for name in ("query", "key", "value"))
        score = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(query.shape[-1])) + hidden
        score = np.exp(score - score.max(axis=-1, keepdims=True))
        seen = (score / score.sum(axis=-1, keepdims=True)) @ value
        seen = linear(f"{layer}.attention.output.dense", seen.swapaxes(1, 2).reshape(x.shape))
        x = norm(f"{layer}.attention.output.LayerNorm", x + seen)
        wide = linear(f"{layer}.intermediate.dense", x)
        wide *= (1 + erf(wide / np.float32(np.sqrt(2)))) / 2
        x = norm(f"{layer}.output.LayerNorm", x + linear(f"{layer}.output.dense", wide))
    return x
