// libFuzzer target: no bytes may crash the ONNX reader, or what looks at a Graph right after it. Not in the default build:
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -Iinclude tests/fuzz/onnx_reader_fuzz.cpp \
//         $(ls src/model/*.cpp src/base/{file,hash,text}.cpp | grep -v -e _test.cpp -e model_source.cpp) -lfmt -lxxhash -o onnx_reader_fuzz
//     ./onnx_reader_fuzz -max_len=65536 corpus/        (begin with small files that `deepgap models NAME --onnx` wrote)
#include "model/graph_tools.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

#include <deepgap/error.h>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  deepgap::OnnxLimits limits;
  limits.max_elements = int64_t{1} << 24;
  try {
    const deepgap::Graph graph = deepgap::parse_onnx(std::as_bytes(std::span(data, size)), "fuzz", "", limits);
    deepgap::validate(graph);
    deepgap::summarize(graph);
    const std::string written = deepgap::write_onnx(graph);
    // What was accepted once is accepted again, and is the same.
    const deepgap::Graph again = deepgap::parse_onnx(std::as_bytes(std::span(written)), "again", "", limits);
    if (deepgap::graph_hash(again) != deepgap::graph_hash(graph)) std::abort();
  } catch (const deepgap::Error& error) {
    if (error.kind() != deepgap::ErrorKind::input) std::abort();
  }
  return 0;
}
