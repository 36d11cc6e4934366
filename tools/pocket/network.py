"""The pocket's network and its training pieces: config, affine quantisation, the MTP head, the optimiser."""

from data import VOCAB

TEXT_CONFIG = dict(
    attention_bias=False,
    attention_dropout=0.0,
    attn_output_gate=True,
    dtype="bfloat16",
    full_attention_interval=4,
    head_dim=256,
    hidden_act="silu",
    hidden_size=256,
    initializer_range=0.02,
    linear_conv_kernel_dim=4,
    linear_key_head_dim=128,
    linear_num_key_heads=4,
    linear_num_value_heads=8,
    linear_value_head_dim=128,
    max_position_embeddings=8192,
    model_type="qwen3_5_moe_text",
    moe_intermediate_size=64,
    mtp_num_hidden_layers=1,
    num_attention_heads=16,
    num_experts=32,
    num_experts_per_tok=8,
    num_hidden_layers=8,
    num_key_value_heads=2,
    rms_norm_eps=1e-6,
    router_aux_loss_coef=0.001,
    shared_expert_intermediate_size=64,
    tie_word_embeddings=False,
    use_cache=True,
    vocab_size=VOCAB,
    rope_parameters=dict(
        mrope_interleaved=True,
        mrope_section=[11, 11, 10],
        partial_rotary_factor=0.25,
        rope_theta=10000000,
        rope_type="default",
    ),
)
GROUP = 64


def affine(w, bits):
    """Affine quantisation of the last axis in groups of 64: codes, bfloat16 scale and bias."""
    import torch

    n = 2**bits - 1
    g = w.float().reshape(*w.shape[:-1], -1, GROUP)
    lo, hi = g.amin(-1, keepdim=True), g.amax(-1, keepdim=True)
    neg = lo.abs() > hi.abs()
    scale = ((hi - lo) / n).clamp(min=1e-7)
    scale = torch.where(neg, scale, -scale)
    edge = torch.where(neg, lo, hi)
    q0 = torch.round(edge / scale)
    bias = torch.where(q0 != 0, edge, torch.zeros_like(edge))
    scale = torch.where(q0 != 0, edge / q0, scale)
    scale, bias = scale.bfloat16(), bias.bfloat16()
    q = torch.round((g - bias.float()) / scale.float()).clamp(0, n)
    return q, scale, bias


def fake_quant(w, bits):
    """`w` as the checkpoint will hold it: quantised and back."""
    q, s, b = affine(w, bits)
    return (q * s.float() + b.float()).reshape(w.shape)


def bits_of(name):
    """Bits of one weight in the exported checkpoint; None where it stays bfloat16."""
    if name.endswith(("mlp.gate.weight", "shared_expert_gate.weight")):
        return 8
    if "norm" in name or "conv1d" in name or name.endswith(("A_log", "dt_bias")):
        return None
    return 4


def fast_training():
    """Swaps two slow functions of transformers for equal ones made of matrix products; for training alone."""
    import torch
    import torch.nn.functional as F
    from transformers.models.qwen3_5_moe import modeling_qwen3_5_moe as q

    @torch.compile(dynamic=False)
    def conv(x, w):
        k, t = w.shape[-1], x.shape[-1]
        xp = F.pad(x, (k - 1, 0))
        return F.silu(sum(xp[:, :, i : i + t] * w[:, i, None] for i in range(k)))

    @torch.compile(dynamic=False)
    def intra(query, key, value, g, beta):
        c, d = 64, key.shape[-1]

        def f(x):
            return x.transpose(1, 2).float().reshape(x.shape[0], x.shape[2], -1, c, *x.shape[3:])

        query, key, value, g, beta = f(query), f(key), f(value), f(g), f(beta)
        query = query * torch.rsqrt((query * query).sum(-1, keepdim=True) + 1e-6) * d**-0.5
        key = key * torch.rsqrt((key * key).sum(-1, keepdim=True) + 1e-6)
        g = g.cumsum(-1)
        low = torch.ones(c, c, dtype=torch.bool, device=key.device).tril()
        decay = torch.where(low, g[..., :, None] - g[..., None, :], -torch.inf).exp()
        kb = key * beta[..., None]
        kt = key.transpose(-1, -2)
        p = -((kb @ kt) * decay).tril(-1)
        inv = torch.eye(c, device=key.device) + p
        for _ in range(5):
            p = p @ p
            inv = inv + inv @ p
        u, w = inv @ (value * beta[..., None]), inv @ (kb * g.exp()[..., None])
        attn = (query @ kt) * decay
        last = g[..., -1:]
        return (
            query * g.exp()[..., None],
            (key * (last - g).exp()[..., None]).transpose(-1, -2),
            u,
            w,
            attn,
            last.exp()[..., None],
        )

    def chunk(query, key, value, g, beta, **kw):
        qs, kt, u, w, attn, last = intra(query, key, value, g, beta)
        b, t, h, dv = value.shape
        s, out = torch.zeros(b, h, key.shape[-1], dv, device=key.device), []
        # unbind: its backward is one stack, where indexing would add a full-size tensor per chunk.
        for q_, k_, u_, w_, a_, d_ in zip(*(x.unbind(2) for x in (qs, kt, u, w, attn, last))):
            v = u_ - w_ @ s
            out.append(q_ @ s + a_ @ v)
            s = s * d_ + k_ @ v
        return torch.stack(out, 2).reshape(b, h, t, dv).transpose(1, 2).to(value.dtype), None

    q.causal_conv1d_fn = lambda x, w, bias=None, activation=None, **k: conv(x, w)
    q.torch_chunk_gated_delta_rule = chunk


def build(dtype=None):
    """A new model on the GPU, from transformers."""
    import torch
    from transformers import Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig

    cfg = Qwen3_5MoeTextConfig(**TEXT_CONFIG)
    cfg._attn_implementation = "sdpa"
    try:
        cfg._experts_implementation = "grouped_mm" if dtype != torch.float32 else "eager"
    except Exception as e:
        print("experts implementation:", e)
    m = Qwen3_5MoeForCausalLM(cfg).cuda()
    return m.to(dtype) if dtype else m


class Mtp:
    """Multi-token prediction: one full-attention layer over [embedding of token t+1, hidden state t]."""

    def __init__(self, model):
        import torch
        from transformers import Qwen3_5MoeTextConfig
        from transformers.models.qwen3_5_moe import modeling_qwen3_5_moe as q

        cfg = Qwen3_5MoeTextConfig(
            **{**TEXT_CONFIG, "num_hidden_layers": 1, "layer_types": ["full_attention"]}
        )
        cfg._attn_implementation = "sdpa"
        cfg._experts_implementation = model.config._experts_implementation
        h = cfg.hidden_size
        self.mod = (
            torch.nn.ModuleDict(
                dict(
                    pre_fc_norm_embedding=q.Qwen3_5MoeRMSNorm(h),
                    pre_fc_norm_hidden=q.Qwen3_5MoeRMSNorm(h),
                    fc=torch.nn.Linear(2 * h, h, bias=False),
                    layers=torch.nn.ModuleList([q.Qwen3_5MoeDecoderLayer(cfg, 0)]),
                    norm=q.Qwen3_5MoeRMSNorm(h),
                )
            )
            .cuda()
            .to(next(model.parameters()).dtype)
        )
        for p in self.mod.parameters():
            if p.dim() > 1:
                torch.nn.init.normal_(p, std=0.02)
        self.model, self.rope = model, model.model.rotary_emb

    def __call__(self, ids, hidden):
        """ids [B, T], hidden [B, T, H] after the final norm; gives logits [B, T-1, V]: row t for t+2."""
        import torch

        m = self.mod
        e = m["pre_fc_norm_embedding"](self.model.model.embed_tokens(ids[:, 1:]))
        x = m["fc"](torch.cat([e, m["pre_fc_norm_hidden"](hidden[:, :-1])], -1))
        pos = torch.arange(x.shape[1], device=x.device)[None].expand(x.shape[0], -1)
        x = m["layers"][0](
            x, position_embeddings=self.rope(x, pos[None].expand(3, -1, -1)), attention_mask=None
        )
        return self.model.lm_head(m["norm"](x))


class Master:
    """AdamW on fp32 copies; the bf16 model holds either rounded or fake-quantised weights."""

    def __init__(self, named, lr, wd=0.05):
        import torch

        self.named = [(n, p) for n, p in named]
        self.master = [p.detach().float().clone() for _, p in self.named]
        for m in self.master:
            m.requires_grad_(True)
        self.bits = [bits_of(n) for n, _ in self.named]
        dec = [m for m, (n, _) in zip(self.master, self.named) if m.dim() > 1 and "conv1d" not in n]
        rest = [m for m, (n, _) in zip(self.master, self.named) if not (m.dim() > 1 and "conv1d" not in n)]
        self.opt = torch.optim.AdamW(
            [dict(params=dec, weight_decay=wd), dict(params=rest, weight_decay=0)],
            lr=lr,
            betas=(0.9, 0.95),
            fused=True,
        )

    def step(self, lr, quant):
        """One optimiser step with the gradients of the bf16 model, then `push`."""
        import torch

        for m, (_, p) in zip(self.master, self.named):
            m.grad = p.grad.float() if p.grad is not None else None
            p.grad = None
        torch.nn.utils.clip_grad_norm_(self.master, 1.0)
        for g in self.opt.param_groups:
            g["lr"] = lr
        self.opt.step()
        self.push(quant)

    def push(self, quant):
        """Writes the fp32 copies into the model, through the quantiser where `quant` is set."""
        import torch

        with torch.no_grad():
            for m, (_, p), b in zip(self.master, self.named, self.bits):
                p.copy_(fake_quant(m, b) if quant and b else m)
