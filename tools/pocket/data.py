"""From the corpus to tokens: chat rendering, the tokenizer, token ids and loss masks."""

import json
import multiprocessing as mp
import os
import random
import re
import time
from pathlib import Path

import numpy as np

import corpus

# The full model's rule for cutting text before BPE.
PRETOKENIZE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
VOCAB = 4096
SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
ADDED = [
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]


def load_template(path):
    """The chat template at `path` with the settings and functions that transformers gives it."""
    import jinja2
    from jinja2.ext import loopcontrols

    env = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    env.filters["tojson"] = lambda x, **k: json.dumps(x, ensure_ascii=False)
    env.globals["raise_exception"] = lambda m: (_ for _ in ()).throw(ValueError(m))
    return env.from_string(Path(path).read_text(encoding="utf-8"))


def render(tmpl, s, **kw):
    """The text of one sample of the corpus."""
    return tmpl.render(messages=s["messages"], tools=s["tools"], enable_thinking=s["thinking"], **kw)


TURN = re.compile(r"<\|im_start\|>assistant\n((?:<think>\n(?:\n</think>\n\n)?)?)(.*?<\|im_end\|>)", re.S)


def encode(tok, text):
    """Token ids and a mask that is 1 on what the assistant writes."""
    enc = tok.encode(text, add_special_tokens=False)
    spans = [m.span(2) for m in TURN.finditer(text)]
    mask, k = np.zeros(len(enc.ids), np.uint8), 0
    for i, (a, b) in enumerate(enc.offsets):
        while k < len(spans) and a >= spans[k][1]:
            k += 1
        if k < len(spans) and a >= spans[k][0]:
            mask[i] = 1
    return enc.ids, mask


def make_shard(args):
    """One file of token ids and masks, made in a worker process; returns the number of tokens."""
    seed, n, path, template, long = args
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(f"{path}/tokenizer.json")
    tmpl, r = load_template(template), random.Random(seed)
    ids, masks = [], []
    for _ in range(n):
        if long and r.random() < 0.5:
            msgs, _ = corpus.t_recall(r, lines=r.choice([20, 40, 80, 120, 160]))
            think = r.random() < 0.5
            if not think:
                for m in msgs:
                    m.pop("reasoning_content", None)
            s = dict(messages=msgs, tools=None, thinking=think)
        else:
            s = corpus.sample(r)
        i, m = encode(tok, render(tmpl, s))
        ids.append(np.array(i, np.uint16))
        masks.append(m)
    out = f"{path}/{'long' if long else 'main'}-{seed}.npz"
    np.savez(out, ids=np.concatenate(ids), mask=np.concatenate(masks))
    return sum(map(len, ids))


def make_data(path, template, samples):
    """Stage `data`: trains the tokenizer, then writes the shards of the main and the long corpus."""
    from tokenizers import AddedToken, Regex, Tokenizer
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

    os.makedirs(path, exist_ok=True)
    tmpl, r = load_template(template), random.Random(1)
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRETOKENIZE), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tok.decoder = decoders.ByteLevel()
    texts = [re.sub(r"<[^>]*>", " ", render(tmpl, corpus.sample(r))) for _ in range(20000)]
    tok.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=VOCAB - len(SPECIAL) - len(ADDED),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    n = tok.get_vocab_size()
    # Fill up to the fixed vocabulary so that the special ids sit at its end, as in the full-size tokenizer.
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIAL])
    tok.add_tokens([AddedToken(t, special=False, normalized=False) for t in ADDED])
    tok.save(f"{path}/tokenizer.json")
    print("bpe vocab", n, "total", tok.get_vocab_size(), flush=True)
    t, jobs = time.time(), [(s, samples // 64, path, template, False) for s in range(100, 164)]
    jobs += [(s, samples // 64 // 6, path, template, True) for s in range(200, 264)]
    with mp.Pool() as pool:
        total = sum(pool.imap_unordered(make_shard, jobs))
    print(f"tokens {total/1e6:.1f}M in {time.time()-t:.0f}s", flush=True)


def load_tokens(path, kind):
    """All shards of one kind ("main" or "long") as one array of ids and one of masks."""
    z = [np.load(f"{path}/{f}") for f in sorted(os.listdir(path)) if f.startswith(kind + "-")]
    return np.concatenate([x["ids"] for x in z]), np.concatenate([x["mask"] for x in z])
