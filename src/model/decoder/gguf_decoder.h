// A decoder out of a GGUF file: its sizes from the metadata, its weights as the file has them, its tokenizer.
#pragma once

#include "model/gguf/gguf.h"

#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// Throws Error{input} "PATH: cause" for what is damaged, and Error{refused} likewise for an architecture or a type of weights that deepgap
// does not have.
Graph read_gguf_decoder(const std::string& path);
Graph gguf_decoder(const GgufFile& file);

}  // namespace deepgap
