// fuzz_corpus FOLDER: writes the files that fuzzing begins with where they are made rather than kept: an ONNX file for every operator
// case of the conformance suite, a GGUF file, blocks and frames.
#include "../conformance/operator_cases.h"
#include "model/gguf/gguf_test_file.h"
#include "model/onnx_writer.h"
#include "record/example_record.h"
#include "record/record_json.h"
#include "record/timing_block.h"
#include "worker/protocol.h"

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

constexpr size_t largest_file = 6000;

void write(const std::filesystem::path& folder, const std::string& name, const std::string& content) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << content;
}

void write_operators(const std::filesystem::path& folder) {
  int number = 0;
  for (const auto& one : conformance::operator_cases()) {
    conformance::Random random(conformance::seed_of(one.op, 0));
    conformance::GraphBuilder builder(random, one.opset);
    const std::string file = write_onnx(one.build(builder));
    if (file.size() <= largest_file) write(folder, std::to_string(++number) + ".onnx", file);
  }
}

void write_records(const std::filesystem::path& folder) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const Record record = example_record(seed, 5 + 20 * seed);
    const std::string timings = encode_timings(record.timings), series = encode_series(record.series), name = std::to_string(seed);
    write(folder / "blocks", name + ".timings", '\0' + timings);
    write(folder / "blocks", name + ".series", '\1' + series);
    Frame frame{{{"kind", "record"}}, {timings, series}};
    frame.header["record"] = record_to_json(record);
    write(folder / "frames", name, encode_frame(frame));
    frame = {point_to_json(record.point), {}};
    frame.header["kind"] = "point";
    write(folder / "frames", name + ".point", encode_frame(frame));
  }
}

void write_gguf(const std::filesystem::path& folder) {
  test_files::GgufWriter file = test_files::tiny_llama();
  write(folder, "plain", '\0' + file.content());
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm").number("tokenizer.ggml.eos_token_id", 1);
  file.texts("tokenizer.ggml.tokens", {"a", "b", "ab"}).texts("tokenizer.ggml.merges", {"a b"});
  write(folder, "with_tokenizer", '\0' + file.content());
}

}  // namespace
}  // namespace deepgap

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = arguments[1];
  deepgap::write_operators(folder / "onnx");
  deepgap::write_records(folder);
  deepgap::write_gguf(folder / "gguf");
  return 0;
}
