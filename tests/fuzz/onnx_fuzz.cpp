// ONNX from its bytes to its outputs: reader, shapes, writer, folding, passes and the evaluator. What folding and the evaluator answer must
// be the same bits, since one uses the other.
#include "engine/passes/passes.h"
#include "fuzz.h"
#include "model/eval/evaluator.h"
#include "model/eval/parallel.h"
#include "model/graph_tools.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "onnx_mutator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

using namespace deepgap;

namespace {

// A file may honestly ask for more than a fuzzer should take; a worker has a limit of its own.
constexpr size_t most_bytes = size_t{64} << 20;
constexpr double most_work = 2e6;

void* allocate(size_t size, size_t alignment) {
  void* found = size > most_bytes ? nullptr : std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}

}  // namespace

// (The sanitizer then sees malloc() and free(), also of what its own forms of new gave: tests/fuzz/run turns that check off.)
void* operator new(size_t size) {
  void* found = size > most_bytes ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
void* operator new(size_t size, std::align_val_t alignment) { return allocate(size, static_cast<size_t>(alignment)); }
void operator delete(void* bytes) noexcept { std::free(bytes); }
void operator delete(void* bytes, size_t) noexcept { std::free(bytes); }
void operator delete(void* bytes, std::align_val_t) noexcept { std::free(bytes); }
void operator delete(void* bytes, size_t, std::align_val_t) noexcept { std::free(bytes); }

namespace {

Graph with_sizes(const Graph& graph) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [symbol, place] : open_symbols(graph)) sizes[symbol] = 2;
  return sizes.empty() ? graph : bind_symbols(graph, sizes);
}

// Small whole numbers, ones and halves: what indices, axes and factors may be.
Tensor input_of(const Graph& graph, ValueId id) {
  Tensor tensor = make_tensor(graph.values[static_cast<size_t>(id)].type, known_shape(graph, id));
  const std::span<std::byte> bytes(writable<std::byte>(tensor).data(), tensor.bytes());
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  if (tensor.type == DataType::f32) {
    float value = -1;
    for (float& element : writable<float>(tensor)) element = (value += 0.5F) > 2 ? value = -1 : value;
  } else {
    const size_t size = byte_size(tensor.type);
    for (size_t i = 0; i < bytes.size(); i += size) bytes[i] = std::byte{static_cast<uint8_t>(i / size % 2)};
  }
  return tensor;
}

bool is_random(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op.starts_with("Random") || node.op == "Bernoulli" || node.op == "Multinomial" || node.op == "Dropout" ||
           evaluates_bodies(node);
  });
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.type == y.type && x.shape == y.shape && (x.bytes() == 0 || std::memcmp(x.data.get(), y.data.get(), x.bytes()) == 0);
  });
}

std::vector<Tensor> outputs_of(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) inputs.push_back(input_of(graph, id));
  return evaluate(graph, inputs);
}

struct Reached {
  bool reader = false, passes = false, evaluator = false, outputs = false;
};

Graph read(std::span<const std::byte> bytes) {
  OnnxLimits limits;
  limits.max_nodes = 500;
  limits.max_values = 2000;
  limits.max_elements = int64_t{1} << 18;
  Graph graph = parse_onnx(bytes, "fuzz", "", limits);
  validate(graph);
  const std::string written = write_onnx(graph);
  // What was accepted once is accepted again, and is the same.
  const Graph again = parse_onnx(std::as_bytes(std::span(written)), "again", "", limits);
  if (graph_hash(again) != graph_hash(graph)) std::abort();
  return graph;
}

void optimize(const Graph& graph, Integers integers) {
  FusionRules rules;
  rules.integers = integers;
  fuzz::accepts([&] {
    Graph optimized = graph;
    optimize_unbound(optimized, rules);
    optimized = with_sizes(optimized);
    optimize_bound(optimized, rules);
    validate(optimized);
  });
}

void run(std::span<const std::byte> bytes, Reached& reached) {
  const Graph graph = read(bytes);
  const GraphSummary summary = summarize(graph);
  reached.reader = true;
  optimize(graph, bytes.size() % 2 == 0 ? Integers::computed_with : Integers::as_operators);
  reached.passes = true;
  const Graph bound = with_sizes(graph);
  const double work = static_cast<double>(summary.flop_per_item) + static_cast<double>(summary.bytes_per_item);
  if (summary.flop_per_item < 0 || work > most_work) return;
  reached.evaluator = true;
  std::vector<Tensor> plain;
  if (!fuzz::accepts([&] { plain = outputs_of(bound); })) return;
  reached.outputs = true;
  Graph folded = bound;
  fold_constants(folded);
  if (!is_random(bound) && !same(plain, outputs_of(folded))) std::abort();
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const auto mutated = seed % 50 == 0 ? std::nullopt : fuzz::mutate_onnx(fuzz::text_of(data, size), seed);
  if (!mutated || mutated->size() > max_size || mutated->empty()) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, mutated->data(), mutated->size());
  return mutated->size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size, uint8_t* out, size_t max_out,
                                            unsigned seed) {
  const auto spliced = fuzz::splice_onnx(fuzz::text_of(a, a_size), fuzz::text_of(b, b_size), seed);
  if (!spliced || spliced->size() > max_out) return 0;
  std::memcpy(out, spliced->data(), spliced->size());
  return spliced->size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share read("files that the reader accepts"), optimized("that the passes were done with"),
      evaluator("that reached the evaluator"), outputs("that it answered");
  set_evaluator_threads(1);
  Reached reached;
  try {
    fuzz::accepts([&] { run(std::as_bytes(std::span(data, size)), reached); });
  } catch (const std::bad_alloc&) {  // a worker's Point is out_of_memory then
  }
  read.count(reached.reader);
  optimized.count(reached.passes);
  evaluator.count(reached.evaluator);
  outputs.count(reached.outputs);
  return 0;
}
