#!/usr/bin/env python3
"""Compares deepgap's own engine on a GPU with PyTorch for transformers: each beside a plain loop over PyTorch's Python interface on that GPU.

    python3 bench/peers/torch_transformers.py [--program build/bin/deepgap] [--models bert_base,vit_b_16] [--precisions fp16] [--batches 64]
        [--modes graph,compile] [--rounds 3] [--seconds 3]

The loop's networks are of BERT-base with 128 tokens and of ViT-B/16's layers, random weights, attention by PyTorch's
scaled_dot_product_attention (which picks FlashAttention or cuDNN's), as one CUDA graph; `compile` is torch.compile with max-autotune, which
brings its own graphs. One batch lies on the GPU on both sides (deepgap: inputs=ready). `each` waits for every batch, as a query does, and is
what the ratio is of; `ahead` launches batches without waiting. A round is one process each, one after the other, the first changing with the
round. Printed: medians of items/s, and median and quartiles of the rounds' ratios deepgap / each. The aim is 1.2. Exit code 1 when a median
is below it. Needs Python's torch."""
import sys

import torch_cuda

AIM = 1.2
WIDTH, HEADS, LAYERS, INNER, TOKENS = 768, 12, 12, 3072, 128


def network(name):
    """BERT-base's encoder with its embeddings and pooler, or ViT-B/16: layer norms after or before, as each has them."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, before):
            super().__init__()
            self.before = before
            self.joint, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def attention(self, x):
            batch, tokens, _ = x.shape
            query, key, value = self.joint(x).view(batch, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            y = nn.functional.scaled_dot_product_attention(query, key, value)
            return self.out(y.transpose(1, 2).reshape(batch, tokens, WIDTH))

        def perceptron(self, x):
            return self.outer(nn.functional.gelu(self.inner(x)))

        def forward(self, x):
            if self.before:
                x = x + self.attention(self.first(x))
                return x + self.perceptron(self.second(x))
            x = self.first(x + self.attention(x))
            return self.second(x + self.perceptron(x))

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places, self.kinds = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH), nn.Embedding(2, WIDTH)
            self.norm, self.layers, self.pooler = nn.LayerNorm(WIDTH), nn.Sequential(*(Layer(False) for _ in range(LAYERS))), nn.Linear(WIDTH, WIDTH)

        def forward(self, ids):
            places = torch.arange(ids.shape[1], device=ids.device)
            x = self.layers(self.norm(self.words(ids) + self.places(places) + self.kinds(torch.zeros_like(ids))))
            return x, torch.tanh(self.pooler(x[:, 0]))

    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, WIDTH, 16, 16)
            self.token, self.places = nn.Parameter(torch.zeros(1, 1, WIDTH)), nn.Parameter(torch.zeros(1, 197, WIDTH))
            self.layers, self.norm, self.head = nn.Sequential(*(Layer(True) for _ in range(LAYERS))), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1000)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
            return self.head(self.norm(self.layers(x))[:, 0])

    return Bert() if name == "bert_base" else Vit()


def sample(name, batch, kind):
    """Returns a batch on the GPU: token ids, or images of this type."""
    import torch
    if name == "bert_base":
        return torch.randint(0, 30522, (batch, TOKENS), device="cuda")
    return torch.rand(batch, 3, 224, 224, device="cuda", dtype=kind)


def model(name):
    """Returns deepgap's name for the network."""
    return f"bert_base:sequence={TOKENS}" if name == "bert_base" else name


def loop(name, precision, batch, mode, _, seconds):
    """Items/s of the loop, waiting for each batch and not: the body of the child process."""
    import torch
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    net = network(name).eval().to("cuda", kind)
    x = sample(name, batch, kind)
    if mode == "compile":
        net, mode = torch.compile(net, mode="max-autotune"), "eager"
    return torch_cuda.rates(net, x, mode, batch, seconds)


class Bench(torch_cuda.Bench):
    engine = "native"

    def options(self, mode, layout):
        return []

    def model(self, name):
        return model(name)


def main():
    parser = torch_cuda.flags_of(__doc__, models="bert_base,vit_b_16", precisions="fp16", batches="64", modes="graph", rounds=3, seconds=3)
    parser.add_argument("--inputs", default="ready")
    arguments = parser.parse_args()
    return torch_cuda.run(arguments, f"{arguments.rounds} rounds of {arguments.seconds:g} s, inputs={arguments.inputs}, items/s", Bench, loop, AIM)


if __name__ == "__main__":
    sys.exit(main())
