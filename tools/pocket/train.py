"""Trains the pocket model: the Qwen3.6-35B-A3B architecture at 1/1200 of its size, on corpus.py's samples.

Stages (each reads and writes --dir; those that render chats need --template):
  data       tokenizer, token ids and loss masks
  train      bf16 pretraining, fp32 master weights
  qat        fine-tuning with affine 4-bit weights in the forward pass (straight-through), then the MTP head
  export     MLX-layout safetensors shards, config.json, tokenizer files, in --out
  reference  float32 logits of the exported (dequantised) weights for fixed prompts, and exact-match scores
Needs one CUDA GPU, torch, transformers >= 5, tokenizers, safetensors and jinja2. README.md shows a whole run.
"""

import argparse
import json
import math
import os
import random
import time

import numpy as np

import corpus
from data import encode, load_template, load_tokens, make_data, render
from network import GROUP, TEXT_CONFIG, Master, Mtp, affine, bits_of, build, fake_quant, fast_training


def batches(tokens, seq, rows, seed, start_id):
    """Endless random windows of (ids, masks): int64 ids and labels on the GPU; each starts at `start_id`."""
    import torch

    ids, mask = tokens
    dev_i, dev_m = torch.from_numpy(ids.astype(np.int32)).cuda(), torch.from_numpy(mask).cuda()
    g = torch.Generator(device="cuda").manual_seed(seed)
    # Windows start where a turn does, so that a zero state meets a beginning.
    starts = torch.nonzero(dev_i == start_id).flatten()
    starts = starts[starts < len(ids) - seq - 1]
    ar = torch.arange(seq, device="cuda")
    while True:
        s = starts[torch.randint(len(starts), (rows,), device="cuda", generator=g)]
        idx = s[:, None] + ar
        x = dev_i[idx].long()
        yield x, torch.where(dev_m[idx] == 1, x, -100)


def masked_ce(logits, labels):
    """Cross entropy on the labelled positions alone."""
    import torch

    keep = labels != -100
    return torch.nn.functional.cross_entropy(logits[keep].float(), labels[keep])


def run(model, master, data, minutes, lr, quant, warm=100, tag=""):
    """Cosine schedule over a wall-clock budget; the first steps (compilation) do not count."""
    import torch

    for _ in range(2):
        x, y = next(data)
        model.lm_head(
            model.model(input_ids=x, use_cache=False).last_hidden_state[:, ::64]
        ).float().square().mean().backward()
        for p in model.parameters():
            p.grad = None
    t0, step, seen = time.time(), 0, 0
    while True:
        frac = (time.time() - t0) / (minutes * 60)
        if frac >= 1:
            break
        x, y = next(data)
        hidden = model.model(input_ids=x, use_cache=False).last_hidden_state
        keep = y[:, 1:] != -100
        logits = model.lm_head(hidden[:, :-1][keep])
        loss = torch.nn.functional.cross_entropy(logits.float(), y[:, 1:][keep])
        loss.backward()
        cur = lr * min(1, (step + 1) / warm) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * frac)))
        master.step(cur, quant)
        step, seen = step + 1, seen + x.numel()
        if step % 100 == 0 or step == 10:
            v = loss.item()
            speed, memory = seen / (time.time() - t0) / 1e3, torch.cuda.max_memory_allocated() / 2**30
            done = f"{tag} step {step} {frac * 100:.0f}%"
            print(f"{done} loss {v:.4f} lr {cur:.2e} {speed:.0f}k tok/s mem {memory:.0f}G", flush=True)
    return step


def stage_train(a, quant=False):
    """Stages `train` and, with `quant`, `qat` followed by the MTP head."""
    import torch
    from tokenizers import Tokenizer

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    tok = Tokenizer.from_file(f"{a.dir}/tokenizer.json")
    start_id = tok.token_to_id("<|im_start|>")
    fast_training()
    model = build(torch.bfloat16)
    model.train()
    if quant:
        model.load_state_dict(torch.load(f"{a.dir}/train.pt"))
    print("parameters", sum(p.numel() for p in model.parameters()) / 1e6, "M", flush=True)
    named = list(model.named_parameters())
    master = Master(named, a.lr)
    if quant:
        for m, w in zip(master.master, torch.load(f"{a.dir}/train-master.pt")):
            m.data.copy_(w)
        master.push(True)
    short, long = load_tokens(a.dir, "main"), load_tokens(a.dir, "long")
    print("main", len(short[0]) / 1e6, "M long", len(long[0]) / 1e6, "M", flush=True)
    if not quant:
        run(
            model, master, batches(short, 1024, a.rows, 1, start_id), a.minutes * 0.8, a.lr, False, tag="main"
        )
        run(
            model,
            master,
            batches(long, 4096, max(1, a.rows // 4), 2, start_id),
            a.minutes * 0.2,
            a.lr * 0.3,
            False,
            warm=20,
            tag="long",
        )
        torch.save(model.state_dict(), f"{a.dir}/train.pt")
        torch.save([m.detach() for m in master.master], f"{a.dir}/train-master.pt")
        return
    half = batches(short, 1024, a.rows, 3, start_id), batches(long, 4096, max(1, a.rows // 4), 4, start_id)

    def mix():
        while True:
            yield next(half[0])
            yield next(half[1])

    run(model, master, mix(), a.minutes, a.lr, True, warm=50, tag="qat")
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)
    mtp = Mtp(model)
    mm, data, t0, step = (
        Master([("mtp." + n, p) for n, p in mtp.mod.named_parameters()], 1e-3),
        mix(),
        time.time(),
        0,
    )
    while time.time() - t0 < a.mtp_minutes * 60:
        frac = (time.time() - t0) / (a.mtp_minutes * 60)
        x, y = next(data)
        with torch.no_grad():
            h = model.model(input_ids=x, use_cache=False).last_hidden_state
        logits = mtp(x, h)
        loss = masked_ce(logits[:, :-1], y[:, 2:])
        loss.backward()
        mm.step(2e-3 * min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * frac)), frac > 0.2)
        step += 1
        if step % 100 == 0:
            keep = y[:, 2:] != -100
            acc = (logits[:, :-1].argmax(-1) == y[:, 2:])[keep].float().mean().item()
            print(f"mtp step {step} loss {loss.item():.4f} accuracy {acc:.3f}", flush=True)
    mm.push(True)
    torch.save(
        dict(
            main={n: m.detach() for (n, _), m in zip(master.named, master.master)},
            mtp={n: m.detach() for (n, _), m in zip(mm.named, mm.master)},
        ),
        f"{a.dir}/final.pt",
    )


def pack(q, bits):
    """Codes to uint32, least significant first."""
    per = 32 // bits
    q = q.reshape(*q.shape[:-2], -1).to("cpu").numpy().astype(np.uint32)
    q = q.reshape(*q.shape[:-1], -1, per)
    out = np.zeros(q.shape[:-1], np.uint32)
    for i in range(per):
        out |= q[..., i] << np.uint32(bits * i)
    return out


SHIFTED = ("input_layernorm", "post_attention_layernorm", "model.norm", "q_norm", "k_norm")


def is_shifted(name):
    """Whether a norm is stored as its parameter plus one; the one inside Gated DeltaNet is not."""
    shifted = name.endswith(tuple(n + ".weight" for n in SHIFTED))
    return shifted or (name.startswith("mtp.") and "norm" in name)


def mlx_names(main):
    """The checkpoint's tensors under the names and layouts that MLX conversions of this model use."""
    out = {}
    for n, w in main.items():
        if n.endswith("experts.gate_up_proj"):
            base, half = n[: -len("experts.gate_up_proj")], w.shape[1] // 2
            out[base + "switch_mlp.gate_proj.weight"] = w[:, :half]
            out[base + "switch_mlp.up_proj.weight"] = w[:, half:]
        elif n.endswith("experts.down_proj"):
            out[n[: -len("experts.down_proj")] + "switch_mlp.down_proj.weight"] = w
        elif n.endswith("conv1d.weight"):
            out[n] = w.movedim(2, 1)
        elif is_shifted(n):
            out[n] = w + 1.0
        else:
            out[n] = w
    return {"language_model." + n: w for n, w in out.items()}


def stage_export(a):
    """Stage `export`: the checkpoint as lirio reads it."""
    import torch
    from safetensors.torch import save_file

    ck = torch.load(f"{a.dir}/final.pt")
    os.makedirs(a.out, exist_ok=True)
    tensors = {}
    for n, w in mlx_names({**ck["main"], **ck["mtp"]}).items():
        b = bits_of(n)
        if b is None:
            tensors[n] = w.float() if n.endswith("A_log") else w.bfloat16()
            tensors[n] = tensors[n].contiguous().cpu()
            continue
        q, s, z = affine(w, b)
        stem = n[: -len("weight")]
        tensors[n] = torch.from_numpy(pack(q, b).view(np.int32)).view(torch.uint32)
        tensors[stem + "scales"] = s.squeeze(-1).contiguous().cpu()
        tensors[stem + "biases"] = z.squeeze(-1).contiguous().cpu()
    order = sorted(tensors)
    total, acc, shards = sum(t.nbytes for t in tensors.values()), 0, [{}, {}]
    for n in order:
        shards[0 if acc < total / 2 else 1][n] = tensors[n]
        acc += tensors[n].nbytes
    index = dict(metadata=dict(total_size=total), weight_map={})
    for i, sh in enumerate(shards):
        f = f"model-{i+1:05d}-of-00002.safetensors"
        save_file(sh, f"{a.out}/{f}", metadata=dict(format="mlx"))
        index["weight_map"].update({n: f for n in sh})
    json.dump(index, open(f"{a.out}/model.safetensors.index.json", "w"), indent=1, sort_keys=True)
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(f"{a.dir}/tokenizer.json")
    tid = tok.token_to_id
    layers = TEXT_CONFIG["num_hidden_layers"]
    quant = dict(group_size=GROUP, bits=4, mode="affine")
    for i in range(layers):
        for g in ("gate", "shared_expert_gate"):
            quant[f"language_model.model.layers.{i}.mlp.{g}"] = dict(group_size=GROUP, bits=8)
    types = ["full_attention" if (i + 1) % 4 == 0 else "linear_attention" for i in range(layers)]
    cfg = dict(
        architectures=["Qwen3_5MoeForConditionalGeneration"],
        model_type="qwen3_5_moe",
        image_token_id=tid("<|image_pad|>"),
        video_token_id=tid("<|video_pad|>"),
        vision_start_token_id=tid("<|vision_start|>"),
        vision_end_token_id=tid("<|vision_end|>"),
        tie_word_embeddings=False,
        eos_token_id=[tid("<|im_end|>"), tid("<|endoftext|>")],
        text_config={**TEXT_CONFIG, "layer_types": types, "eos_token_id": tid("<|endoftext|>")},
        quantization=quant,
        quantization_config=quant,
    )
    json.dump(cfg, open(f"{a.out}/config.json", "w"), indent=2)
    json.dump(
        dict(
            bos_token_id=tid("<|endoftext|>"),
            do_sample=True,
            eos_token_id=[tid("<|im_end|>"), tid("<|endoftext|>")],
            pad_token_id=tid("<|endoftext|>"),
            temperature=1.0,
            top_k=20,
            top_p=0.95,
        ),
        open(f"{a.out}/generation_config.json", "w"),
        indent=2,
    )
    json.dump(
        dict(
            tokenizer_class="Qwen2Tokenizer",
            eos_token="<|im_end|>",
            pad_token="<|endoftext|>",
            bos_token=None,
            model_max_length=TEXT_CONFIG["max_position_embeddings"],
            add_bos_token=False,
        ),
        open(f"{a.out}/tokenizer_config.json", "w"),
        indent=2,
    )
    open(f"{a.out}/tokenizer.json", "w").write(open(f"{a.dir}/tokenizer.json").read())
    print("exported", total / 1e6, "MB", flush=True)


def dequantised(a):
    """float32 HF-layout weights of the export, from the same codes, scales and biases."""
    import torch

    ck = torch.load(f"{a.dir}/final.pt")

    def f(n, w):
        b = bits_of(n)
        return fake_quant(w, b) if b else (w.float() if n.endswith("A_log") else unshift(n, w))

    def unshift(n, w):
        return (w + 1.0).bfloat16().float() - 1.0 if is_shifted(n) else w.bfloat16().float()

    return {n: f(n, w) for n, w in ck["main"].items()}, {n: f(n, w) for n, w in ck["mtp"].items()}


def stage_reference(a):
    """Stage `reference`: the files of tests/golden/pocket."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer

    torch.backends.cuda.matmul.allow_tf32 = False
    tok = Tokenizer.from_file(f"{a.dir}/tokenizer.json")
    model = build(torch.float32)
    main, mtp_w = dequantised(a)
    model.load_state_dict(main)
    model.eval()
    mtp = Mtp(model)
    mtp.mod.load_state_dict({n[4:]: w for n, w in mtp_w.items()})
    mtp.mod.eval()
    tmpl = load_template(a.template)
    # Exact match of greedy decoding, per task: teacher forcing decides it in one pass.
    r, score = random.Random(987654), {}
    with torch.no_grad():
        for task, _ in corpus.TASKS:
            for _ in range(a.eval):
                s = corpus.sample(r, task)
                if not s["exact"]:
                    continue
                ids, mask = encode(tok, render(tmpl, s))
                x = torch.tensor([ids]).cuda()
                pred = model(input_ids=x, use_cache=False).logits[0, :-1].argmax(-1).cpu().numpy()
                ok = bool(np.all((pred == np.array(ids[1:])) | (mask[1:] == 0)))
                score.setdefault(s["task"], []).append(ok)
        for n in (40, 80, 160):
            for _ in range(a.eval // 3):
                msgs, _ = corpus.t_recall(r, lines=n)
                for m in msgs:
                    m.pop("reasoning_content", None)
                ids, mask = encode(tok, render(tmpl, dict(messages=msgs, tools=None, thinking=False)))
                x = torch.tensor([ids]).cuda()
                pred = model(input_ids=x, use_cache=False).logits[0, :-1].argmax(-1).cpu().numpy()
                score.setdefault(f"recall-{n}", []).append(
                    bool(np.all((pred == np.array(ids[1:])) | (mask[1:] == 0)))
                )
        result = {k: [sum(v), len(v)] for k, v in sorted(score.items())}
        print(json.dumps(result), flush=True)
        # Reference logits, teacher forced, float32, on fixed conversations of growing length.
        ref, meta = {}, []
        r = random.Random(4242)
        picks = [
            corpus.t_math,
            corpus.t_string,
            corpus.t_tools,
            corpus.t_json,
            corpus.t_story,
            corpus.t_recall,
        ]
        convs = [corpus.sample(r, t) for t in picks]
        msgs, _ = corpus.t_recall(r, lines=60)
        convs.append(dict(messages=msgs, tools=None, thinking=True))
        for i, s in enumerate(convs):
            text = render(tmpl, s)
            ids, _ = encode(tok, text)
            x = torch.tensor([ids]).cuda()
            out = model.model(input_ids=x, use_cache=False)
            logits = model.lm_head(out.last_hidden_state)[0]
            keep = torch.arange(max(0, len(ids) - 192), len(ids), device="cuda")
            ref[f"{i}.ids"] = torch.tensor(ids, dtype=torch.int32)
            ref[f"{i}.logits"] = logits[keep].half().cpu()  # last 192 positions
            ref[f"{i}.nll"] = torch.nn.functional.cross_entropy(logits[:-1], x[0, 1:], reduction="none").cpu()
            ref[f"{i}.argmax"] = logits.argmax(-1).int().cpu()
            ref[f"{i}.mtp_argmax"] = mtp(x, out.last_hidden_state)[0].argmax(-1).int().cpu()
            meta.append(
                dict(
                    text=text,
                    messages=s["messages"],
                    tools=s["tools"],
                    thinking=s["thinking"],
                    tokens=len(ids),
                )
            )
        # Layer outputs of conversation 0: embedding, then each decoder layer, float32.
        x = ref["0.ids"].long()[None].cuda()
        hs = model.model(input_ids=x, use_cache=False, output_hidden_states=True).hidden_states
        for k, h in enumerate(hs):
            ref[f"0.hidden.{k}"] = h[0].float().cpu()
    os.makedirs(a.out, exist_ok=True)
    save_file({k: v.contiguous() for k, v in ref.items()}, f"{a.out}/reference.safetensors")
    json.dump(
        dict(conversations=meta, exact_match=result),
        open(f"{a.out}/reference.json", "w"),
        ensure_ascii=False,
        indent=1,
    )
    # Held-out prompts with their exact answers, and the text for perplexity: functions of the corpus alone.
    for name, rows in (("behaviour.json", corpus.behaviour()), ("heldout.json", corpus.heldout())):
        with open(f"{a.out}/{name}", "w", encoding="utf-8") as f:
            json.dump(rows, f, ensure_ascii=False, indent=0)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = {
        "data": lambda a: make_data(a.dir, a.template, a.samples),
        "train": stage_train,
        "qat": lambda a: stage_train(a, True),
        "export": stage_export,
        "reference": stage_reference,
    }
    p.add_argument("stage", nargs="+", choices=list(stages))
    p.add_argument("--dir", required=True, help="work folder; about 3 GB")
    p.add_argument("--out", help="where `export` and `reference` write (default: DIR/out)")
    p.add_argument("--template", help="the model's chat_template.jinja, for `data` and `reference`")
    p.add_argument("--samples", type=int, default=600000, help="conversations in the corpus")
    p.add_argument("--minutes", type=float, default=6, help="wall-clock budget of `train` and of `qat`")
    p.add_argument("--mtp-minutes", type=float, default=1)
    p.add_argument("--rows", type=int, default=32, help="windows of 1,024 tokens in a batch")
    p.add_argument("--lr", type=float, default=1.5e-3)
    p.add_argument("--eval", type=int, default=100, help="conversations scored for each task by `reference`")
    a = p.parse_args()
    a.out = a.out or f"{a.dir}/out"
    if a.template is None and {"data", "reference"} & set(a.stage):
        p.error("these stages render chats: give --template")
    for name in a.stage:
        started = time.time()
        stages[name](a)
        print(f"[{name}] {time.time() - started:.0f}s", flush=True)


if __name__ == "__main__":
    main()
