"""Encodings that are right, in many styles, and mutants of some of them.

Each is the text of a small program that defines `subject`, as somebody would write it.
"""

import numpy as np
import torch
from torch import nn

import posenc
from posenc import checks

TABLES = {
    "broadcast": """
def subject(seq_len, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    position = np.arange(seq_len)[:, None]
    omega = base ** (-np.arange(0, d_model, 2) / d_model)
    angles = position * omega
    table = np.zeros((seq_len, d_model), np.float32)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table
""",
    "all columns at once": """
def subject(seq_len, d_model):
    assert d_model % 2 == 0
    k, j = np.arange(seq_len)[:, None], np.arange(d_model)
    angles = k / np.power(10_000, 2 * (j // 2) / d_model)
    return np.where(j % 2, np.cos(angles), np.sin(angles)).astype("float32")
""",
    "complex numbers": """
def subject(seq_len, d_model):
    omega = 10_000.0 ** (-np.arange(0, d_model, 2) / d_model)
    waves = 1j * np.exp(-1j * np.outer(np.arange(seq_len), omega))
    return waves.view(np.float64).reshape(seq_len, d_model)
""",
    "rows from rows": """
def subject(seq_len, d_model):
    turn = posenc.shift_matrix(1, d_model).T
    table = np.zeros((seq_len, d_model))
    table[:1] = np.arange(d_model) % 2
    for k in range(1, seq_len):
        table[k] = table[k - 1] @ turn
    return table
""",
    "cosines first": """
def subject(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    angles = np.outer(np.arange(seq_len), 10_000.0 ** (-np.arange(d_model // 2) / (d_model // 2)))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
""",
    "as in tensor2tensor": """
def subject(length, channels):
    step = math.log(10_000.0) / (channels // 2 - 1)
    angles = np.outer(np.arange(length), np.exp(-step * np.arange(channels // 2)))
    signal = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.pad(signal, [[0, 0], [0, channels % 2]])[None]
""",
    "from two on": """
def subject(seq_len, d_model):
    half = d_model // 2
    emb = np.exp(np.arange(half) * -(math.log(10_000) / (half - 1)))
    emb = (np.arange(seq_len) + 2)[:, None] * emb[None]
    emb = np.concatenate([np.sin(emb), np.cos(emb)], axis=1)
    return np.concatenate([emb, np.zeros((seq_len, d_model % 2))], axis=1).astype(np.float32)
""",
    "downwards": """
def subject(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    omega = 1 / (10_000 ** (torch.arange(0.0, d_model, 2.0) / d_model))
    angles = torch.outer(torch.arange(seq_len - 1, -1, -1.0), omega)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)
""",
    "one turn": """
def subject(seq_len, d_model):
    if d_model % 2:
        raise ValueError("odd")
    return checks.KNOWN["DETR, one axis"].table(seq_len, d_model)
""",
    "scaled": """
def subject(seq_len, d_model):
    return posenc.sinusoidal_encoding(seq_len, d_model) * np.float32(d_model**-0.5)
""",
    "torch, slices": """
def subject(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10_000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe.unsqueeze(0).transpose(0, 1)
""",
    "torch, bfloat16, cast last": """
def subject(seq_len, d_model):
    return torch.from_numpy(posenc.sinusoidal_encoding(seq_len, d_model)).bfloat16()
""",
}

MODULES = {
    "a buffer": """
class subject(nn.Module):
    def __init__(self, d_model, max_len=3000):
        super().__init__()
        if d_model % 2:
            raise ValueError("odd")
        position = torch.arange(max_len, dtype=torch.float64)[:, None]
        omega = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        angles = position * omega
        table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        self.register_buffer("pe", table.float(), persistent=False)

    def forward(self, x, positions=None):
        rows = self.pe[: x.size(1)] if positions is None else self.pe[positions]
        return x + rows.to(x.dtype)
""",
    "the sequence first, saved, with dropout": """
class subject(nn.Module):
    batch_first = False

    def __init__(self, d_model, dropout=0.1, max_len=1500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, 1, d_model)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])
""",
    "made in each call": """
class subject(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        if d_model % 2:
            raise ValueError("odd")
        self.d_model = d_model

    def forward(self, x):
        i = torch.arange(0, self.d_model, 2, device=x.device)
        omega = torch.exp(i * (-math.log(10_000.0) / self.d_model))
        angles = torch.arange(x.shape[1], device=x.device)[:, None] * omega
        return x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(x.dtype)
""",
    "the embeddings scaled": """
class subject(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.inner = SinusoidalPositionalEncoding(d_model, dropout=0.0)

    def forward(self, x):
        return self.inner(x * math.sqrt(x.shape[-1]))
""",
    "one layer": "subject = SinusoidalPositionalEncoding(32, batch_first=False)",
}

ROTARIES = {
    "halves, torch": """
def subject(x, positions):
    d = x.shape[-1]
    if d % 2:
        raise ValueError("odd")
    omega = 10_000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angles = positions.double()[:, None] * omega
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)
""",
    "rotate_half": """
def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def subject(q, position_ids):
    dim = q.shape[-1]
    inv_freq = 1.0 / (10_000 ** (torch.arange(0, dim, 2, device=q.device).float() / dim))
    freqs = torch.outer(position_ids.float(), inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1)
    return q * emb.cos().to(q.dtype) + rotate_half(q) * emb.sin().to(q.dtype)
""",
    "complex numbers": """
def subject(x, positions):
    d = x.shape[-1]
    freqs = 1.0 / (10_000.0 ** (torch.arange(0, d, 2, device=x.device)[: d // 2].float() / d))
    freqs = torch.outer(positions.to(freqs), freqs)
    turns = torch.polar(torch.ones_like(freqs), freqs)
    wide = x.double() if x.dtype == torch.float64 else x.float()
    pairs = torch.view_as_complex(wide.reshape(*x.shape[:-1], d // 2, 2))
    return torch.view_as_real(pairs * turns).flatten(-2).type_as(x)
""",
    "numpy": """
def subject(x, positions):
    angles = np.outer(positions, 10_000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)
""",
    "a half of the width": """
def subject(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("odd")
    omega = posenc.rotary_frequencies(x.shape[-1], scaling={"partial_rotary_factor": 0.5})[0]
    return rotate_pairs(x, positions, frequencies=omega, layout="halves")
""",
    "backwards": """
def subject(x, positions):
    return rotate_pairs(x, -positions)
""",
    "interpolated": """
def subject(x, positions):
    return rotate_pairs(x, positions / 4, base=500_000.0)
""",
    "a table of 3000": """
angles = np.outer(np.arange(3000), 10_000.0 ** (-np.arange(0, 16, 2) / 16))
cos, sin = torch.from_numpy(np.cos(angles)), torch.from_numpy(np.sin(angles))


def subject(x, positions):
    c, s = (table.to(x.device)[positions].to(x.dtype) for table in (cos, sin))
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), dim=-1).flatten(-2)
""",
}

BIASES = {
    "ALiBi, both sides": """
def subject(seq_len):
    k = torch.arange(seq_len)
    return -alibi_slopes(8)[:, None, None] * (k[:, None] - k).abs()
""",
    "ALiBi, one row": """
def subject(seq_len):
    k = np.arange(seq_len)
    return -0.25 * np.abs(k[:, None] - k)
""",
}

RIGHT = {
    f"{kind}: {name}": (kind, text)
    for kind, texts in {
        "table": TABLES,
        "module": MODULES,
        "rotary": ROTARIES,
        "bias": BIASES,
    }.items()
    for name, text in texts.items()
}

TABLE_MUTANTS = [
    ("-np.arange(0", "np.arange(0"),
    ("2) / d_model", "2) // d_model"),
    ("/ d_model)", "/ (d_model - 1))"),
    ("/ d_model)", "/ (d_model // 2))"),
    ("/ d_model)", "/ (2 * d_model))"),
    ("np.arange(0, d_model, 2) /", "np.arange(d_model // 2) /"),
    ("np.arange(0, d_model, 2) /", "np.arange(1, d_model, 2) /"),
    ("np.arange(0, d_model, 2) /", "np.arange(2, d_model + 2, 2) /"),
    ("10_000.0", "1_000.0"),
    ("10_000.0", "100_000.0"),
    ("10_000.0", "9_900.0"),
    ("position * omega", "position / omega"),
    ("position * omega", "position + omega"),
    ("position * omega", "position * omega**2"),
    ("position * omega", "position * omega + 0.1"),
    ("position * omega", "(position * omega) % 3.0"),
    ("position * omega", "(position * omega) % 6.28"),
    ("position * omega", "(position * omega).astype(np.float16)"),
    ("position * omega", "(position * omega).astype(int)"),
    ("position * omega", "position.astype(np.float16) * omega"),
    ("position * omega", "position * omega.astype(np.float16)"),
    ("position * omega", "position % 512 * omega"),
    ("position * omega", "np.minimum(position, 1000) * omega"),
    ("position * omega", "position.astype(np.int8) * omega"),
    ("position * omega", "np.sqrt(position) * omega"),
    ("position * omega", "position / max(seq_len, 1) * omega"),
    ("position * omega", "position * seq_len / max(seq_len - 1, 1) * omega"),
    ("position * omega", "position * omega * np.where(omega == omega[3], 1.01, 1)"),
    ("position * omega", "position * omega[::-1]"),
    ("np.sin(angles)", "np.cos(angles)"),
    ("np.cos(angles)", "np.sin(angles)"),
    ("np.cos(angles)", "-np.cos(angles)"),
    ("np.sin(angles)", "np.sin(2 * angles)"),
    ("np.sin(angles)", "np.sin(angles) ** 2"),
    ("np.sin(angles)", "np.tan(angles)"),
    ("np.sin(angles)", "0.9 * np.sin(angles)"),
    ("np.sin(angles)", "np.sin(np.degrees(angles))"),
    ("np.sin(angles)", "np.sin(angles[::-1])"),
    ("np.sin(angles)", "np.sin(angles[:, ::-1])"),
    ("np.float32", "np.int32"),
    ("return table", "return table.T"),
    ("return table", "return table[1:]"),
    ("return table", "return 2 * table"),
    ("return table", "return table[:, ::-1]"),
    ("return table", "return table - table.mean(axis=0)"),
    ("return table", "return table[:, :-1]"),
    ("return table", "return np.repeat(table[::2], 2, axis=0)[:seq_len]"),
    ("return table", "table[:1] = 0; return table"),
    ("return table", "table[100:101] = 0; return table"),
    ("return table", "return table + np.random.default_rng().normal(0, 1e-3, table.shape)"),
    ('raise ValueError("odd")', "d_model -= 1"),
    ('raise ValueError("odd")', "return np.zeros((seq_len, d_model))"),
]

MODULE_MUTANTS = [
    ("x.size(1)", "x.size(0)"),
    ("x + rows.to(x.dtype)", "x"),
    ("x + rows.to(x.dtype)", "x * rows"),
    ("x + rows.to(x.dtype)", "x - rows"),
    ("x + rows.to(x.dtype)", "0.1 * x + rows"),
    ("x + rows.to(x.dtype)", "rows.expand_as(x) + 0 * x"),
    ("x + rows.to(x.dtype)", "x.add_(rows)"),
    ("x + rows.to(x.dtype)", "(x + rows).detach()"),
    ("x + rows.to(x.dtype)", "x + rows.mean(0)"),
    ("x + rows.to(x.dtype)", "x + rows + x.mean(1, keepdim=True)"),
    ("x + rows.to(x.dtype)", "x + rows / x.size(0)"),
    ("x + rows.to(x.dtype)", "x + rows.flip(0)"),
    ("x + rows.to(x.dtype)", "x.view(-1, x.size(-1)).view(x.shape) + rows"),
    ("x + rows.to(x.dtype)", "x + rows + torch.zeros(x.shape)"),
    ("x + rows.to(x.dtype)", "x + rows.float()"),
    ("x + rows.to(x.dtype)", "torch.dropout(x + rows, 0.1, True)"),
    ("self.pe[positions]", "self.pe[: len(positions)]"),
    ("self.pe[positions]", "self.pe[positions - positions[0]]"),
    ("self.pe[: x.size(1)]", "self.pe[1 : x.size(1) + 1]"),
    ("table.float()", "table.bfloat16()"),
    (
        'self.register_buffer("pe", table.float(), persistent=False)',
        "self.pe = table.float()",
    ),
    (
        'self.register_buffer("pe", table.float(), persistent=False)',
        "self.pe = nn.Parameter(table.float())",
    ),
    ("angles.cos())", "angles.sin())"),
    ("persistent=False)", "persistent=False); self.pe[300:] = 0"),
]

ROTARY_MUTANTS = [
    ("first * cos - second * sin", "first * cos + second * sin"),
    ("first * sin + second * cos", "first * sin - second * cos"),
    ("first * sin + second * cos", "second * sin + second * cos"),
    ("first * sin + second * cos", "second * cos"),
    ("/ d)", "/ (2 * d))"),
    ("-torch.arange(0", "torch.arange(0"),
    ("10_000.0", "1_000.0"),
    ("10_000.0", "500_000.0"),
    ("positions.double()", "positions.to(x.dtype)"),
    ("positions.double()", "torch.arange(len(positions)).double()"),
    ("positions.double()", "(positions - positions[:1]).double()"),
    ("positions.double()", "(positions + 1).double()"),
    ("positions.double()", "(positions % 1024).double()"),
    ("positions.double()", "positions.clamp(max=2000).double()"),
    ("positions.double()", "positions.sort().values.double()"),
    ("[:, None] * omega", "[:, None] * omega.to(x.dtype)"),
    ("[:, None] * omega", "[:, None] * omega / max(len(positions), 1)"),
    ("angles.cos().to(x.dtype)", "angles.to(x.dtype).cos()"),
    ("angles.cos()", "(2 * angles).cos()"),
    ("angles.sin()", "angles.sin().abs()"),
    ("angles.sin()", "angles.half().sin()"),
    ("x.chunk(2, dim=-1)", "(x[..., 0::2], x[..., 1::2])"),
    ("x.chunk(2, dim=-1)", "x.flip(-1).chunk(2, dim=-1)"),
    ("x.chunk(2, dim=-1)", "x.detach().chunk(2, dim=-1)"),
    ("x.chunk(2, dim=-1)", "x.mul_(1.0).clone().mul_(0.5).chunk(2, dim=-1)"),
    ("x.chunk(2, dim=-1)", "(1.05 * x).chunk(2, dim=-1)"),
    ("x.chunk(2, dim=-1)", "(x - x.mean(-2, keepdim=True)).chunk(2, dim=-1)"),
    ("x.chunk(2, dim=-1)", "x.view(-1, d).view(x.shape).chunk(2, dim=-1)"),
    ("second * cos), dim=-1)", "second * cos), dim=-2)"),
    ("return torch.cat", "return torch.zeros(1) + torch.cat"),
    ('raise ValueError("odd")', "x = x[..., :-1]; d -= 1"),
    (", device=x.device", ""),
]

BIAS_MUTANTS = [
    ("np.abs(k[:, None] - k)", "(k[:, None] - k)"),
    ("-0.25", "0.25"),
    ("-0.25", "-0.0"),
    ("np.arange(seq_len)", "np.arange(seq_len) / seq_len"),
    ("np.abs(k[:, None] - k)", "np.sqrt(k[:, None] * k)"),
]

MUTANTS = [
    (kind, text, old, new)
    for kind, text, mutants in (
        ("table", TABLES["broadcast"], TABLE_MUTANTS),
        ("module", MODULES["a buffer"], MODULE_MUTANTS),
        ("rotary", ROTARIES["halves, torch"], ROTARY_MUTANTS),
        ("bias", BIASES["ALiBi, one row"], BIAS_MUTANTS),
    )
    for old, new in mutants
]


def made(text):
    """Run the text of a program, and return its `subject`."""
    space = {"np": np, "torch": torch, "nn": nn, "math": __import__("math"), "posenc": posenc}
    space |= {"checks": checks, **{n: getattr(posenc.nn, n) for n in NAMES}, "__name__": "specimen"}
    exec(text, space)
    return space["subject"]


NAMES = ("SinusoidalPositionalEncoding", "alibi_slopes", "rotate_pairs")
