// Changes to ONNX files that leave them ONNX files: other sizes, numbers, operators, attributes and edges, nodes doubled, left out or taken
// from another file. So most inputs get past the reader, to shapes, folding, passes and the evaluator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace deepgap::fuzz {

// nullopt where `file` is not a protobuf.
std::optional<std::string> mutate_onnx(std::string_view file, uint64_t seed);
// `file` with a part of `other`.
std::optional<std::string> splice_onnx(std::string_view file, std::string_view other, uint64_t seed);

}  // namespace deepgap::fuzz
