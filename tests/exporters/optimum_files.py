#!/usr/bin/env python3
"""Decoders with past key values as Optimum exports them, plain and merged, with random weights and what transformers answers greedily.

Usage: optimum_files.py FOLDER [NAME]     Needs torch, transformers, optimum-onnx and onnx; tests/data/decoders was made with torch 2.11,
transformers 4.57.6 and optimum-onnx 0.1.0, opset 17.
"""
import json
import pathlib
import sys

import torch
from optimum.exporters.onnx import export
from optimum.exporters.tasks import TasksManager
from optimum.onnx import merge_decoders
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

WORDS = 264
TEXT = "This program is free software"
TOKENS = {"vocab_size": WORDS, "bos_token_id": 0, "eos_token_id": 0, "initializer_range": 0.5}
MODELS = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                                                  max_position_embeddings=64, **TOKENS)),
    "gpt2_merged": lambda: GPT2LMHeadModel(GPT2Config(n_positions=64, n_embd=16, n_layer=1, n_head=2, **TOKENS)),
}


def tokenizer():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([TEXT] * 9, trainers.BpeTrainer(vocab_size=WORDS, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False))
    return made


def write_graph(model, folder, merged):
    config = TasksManager.get_exporter_config_constructor("onnx", model=model, task="text-generation", library_name="transformers")
    paths = {past: folder / f"{past}.onnx" for past in ((False, True) if merged else (True,))}
    for past, path in paths.items():
        export(model, config(model.config, task="text-generation", use_past=True, use_past_in_inputs=past), path, opset=17)
    if merged:
        merge_decoders(str(paths[False]), str(paths[True]), save_path=str(folder / "model.onnx"), strict=False)
        paths[False].unlink()
        paths[True].unlink()
    else:
        paths[True].rename(folder / "model.onnx")


def main():
    for name, make in MODELS.items():
        if len(sys.argv) > 2 and sys.argv[2] != name:
            continue
        folder = pathlib.Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(1)
        model, words = make().eval(), tokenizer()
        write_graph(model, folder, name.endswith("merged"))
        words.save(str(folder / "tokenizer.json"), pretty=False)
        model.config.save_pretrained(folder)
        prompt = torch.tensor([words.encode(TEXT).ids])
        with torch.no_grad():
            answer = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, min_new_tokens=12, do_sample=False, pad_token_id=0)
        tokens = answer[0, prompt.shape[1]:].tolist()
        (folder / "answer.json").write_text(json.dumps({"text": TEXT, "prompt": prompt[0].tolist(), "tokens": tokens}) + "\n")


if __name__ == "__main__":
    main()
