#include "engine/gpu/decoder/gpu_decoder.h"

#include "base/text.h"
#include "engine/gpu/decoder/step_memory.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

using cuda::Address;

// Supports heads whose results fit shared memory, in whole words of 16 bytes.
void require_heads(const DecoderShape& shape) {
  const int64_t queries = shape.heads / shape.kv_heads;
  if (shape.head_size % 8 == 0 && shape.head_size <= 256 && queries <= 16) return;
  throw Error(ErrorKind::refused,
              fmt::format("native: task generate on cuda does not support heads of {} numbers with {} queries a key: use the CPU",
                          shape.head_size, queries));
}

class GpuDecoder final : public DecoderSteps {
 public:
  GpuDecoder(const DecoderModel& model, int device, const GpuDecoderOptions& options)
      : model_(model),
        options_(options),
        context_(device),
        facts_(cuda::device_facts(device)),
        kernels_({facts_.architecture(), facts_.multiprocessors, facts_.shared_bytes}, options.cache_folder) {
    require_heads(model.shape);
    context_.use();
    weights_ = upload_decoder(model, options.halves == Element::bf16 ? WeightType::bf16 : WeightType::f16);
    if (options.libraries) library_ = LibraryGemm::find(options.halves);
    shape_ = {model.shape, *find_decoder_style(model.shape.architecture), options.halves, weights_.any_quantized, 0};
    stream_.emplace();
  }
  ~GpuDecoder() override { context_.use(); }

  void enter() const override { context_.use(); }
  int64_t most_rows() const override { return StepMemory::most_rows; }
  int64_t cache_bytes() const override { return memory_ ? memory_->cache_bytes() : 0; }
  int64_t cache_context() const override { return memory_ ? shape_.cache_context : 0; }
  int64_t most_scores() const override { return memory_ ? memory_->most_scores() : 0; }
  int64_t weight_bytes() const override { return weights_.bytes; }
  std::map<std::string, double> type_shares() const override { return shares_of_types(weights_.numbers); }

  void make_cache(int64_t sequences, int64_t context) override {
    graphs_.clear();
    memory_.reset();  // never two at a time
    shape_.cache_context = context;
    kernels_.use(shape_);
    try {
      memory_.emplace(model_, shape_, sequences, weights_.any_quantized ? widest_matrix() : 0);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory) throw;
      const auto bytes = static_cast<double>(kv_bytes_per_token(model_.shape) * context * sequences);
      throw Error(
          ErrorKind::out_of_memory,
          fmt::format("native: no memory on cuda for a cache of keys and values of {} ({} sequences of {} tokens) beside weights of "
                      "{}: lower the number of sequences, --prompt-tokens or --output-tokens",
                      format_bytes(bytes), sequences, context, format_bytes(static_cast<double>(weights_.bytes))));
    }
  }

  void run(std::span<const DecoderRow> rows) override {
    const auto count = static_cast<int64_t>(rows.size());
    if (count == 0 || count > most_rows()) throw Error(ErrorKind::internal, fmt::format("native: a step of {} rows", count));
    const int64_t wanted = memory_->describe(rows, stream_->get());
    if (options_.cuda_graph && wanted == count && count <= most_product_tokens) {
      cuda::CudaGraph& graph = graphs_[count];
      if (!graph) {
        queue(count, wanted);  // compiles what is not there: recording cannot
        graph = cuda::CudaGraph::record(*stream_, [&] { queue(count, wanted); });
      } else {
        graph.launch(*stream_);
      }
    } else {
      queue(count, wanted);
    }
    memory_->fetch_best(wanted, stream_->get());
    stream_->synchronize();
  }

  std::span<const float> scores(size_t n) override {
    host_scores_.resize(static_cast<size_t>(model_.shape.vocabulary));
    const size_t bytes = host_scores_.size() * sizeof(float);
    cuda::check(cuda::driver().cuMemcpyDtoH_v2(host_scores_.data(), memory_->scores.address() + n * bytes, bytes), "copying scores");
    return host_scores_;
  }
  int64_t best_token(size_t n) override { return memory_->best_token(n); }

 private:
  enum class End : uint8_t { store, add, activate };

  int64_t widest_matrix() const {
    int64_t most = 0;
    for (const DeviceLayer& layer : weights_.layers)
      for (const DeviceLinear* linear : {&layer.qkv, &layer.output, &layer.up, &layer.down})
        for (const auto& part : linear->parts)
          if (part->is_quantized()) most = std::max(most, part->rows * part->pitch);
    return most;
  }
  bool overlaps() const { return facts_.architecture() >= 90; }

  template <typename... Arguments>
  void step(const char* entry, std::array<int64_t, 3> grid, unsigned threads, Arguments... arguments) {
    launch(kernels_.step(entry), grid, threads, overlaps(), stream_->get(), arguments...);
  }

  // Everything of a step: what it reads stands in memory_.
  void queue(int64_t count, int64_t wanted) {
    StepMemory& m = *memory_;
    step("embed_tokens", {count, 1, 1}, 256, weights_.embeddings->numbers.address(),
         weights_.positions ? weights_.positions->numbers.address() : Address{0}, m.tokens(), m.positions(), m.hidden.address());
    int index = 0;
    for (const DeviceLayer& layer : weights_.layers) queue_layer(layer, index++, count);
    if (wanted == 0) return;
    if (count == 1) {
      multiply_normalized(weights_.output_norm, weights_.scores, End::store, 1, m.scores.address(), model_.shape.vocabulary);
    } else {
      normalize(weights_.output_norm, wanted, m.wanted());
      multiply(weights_.scores, End::store, m.normalized.address(), 0, wanted, m.scores.address(), model_.shape.vocabulary);
    }
    step("best_token", {wanted, 1, 1}, 512, m.scores.address(), m.best.address());
  }

  void queue_layer(const DeviceLayer& layer, int index, int64_t count) {
    StepMemory& m = *memory_;
    const int64_t embedding = model_.shape.embedding;
    multiply_normalized(layer.attention_norm, layer.qkv, End::store, count, m.qkv.address(), shape_.qkv());
    attend(layer, index, count);
    multiply(layer.output, End::add, m.attended.address(), 0, count, m.hidden.address(), embedding);
    multiply_normalized(layer.feed_forward_norm, layer.up, End::activate, count, m.inner.address(),
                        shape_.pitch(model_.shape.feed_forward));
    multiply(layer.down, End::add, m.inner.address(), 0, count, m.hidden.address(), embedding);
  }

  void normalize(const DeviceNorm& norm, int64_t count, Address which) {
    step("normalize_tokens", {count, 1, 1}, 256, memory_->hidden.address(), address_of(norm.weight), address_of(norm.bias), which,
         memory_->normalized.address());
  }

  void attend(const DeviceLayer& layer, int index, int64_t count) {
    StepMemory& m = *memory_;
    const DecoderShape& d = model_.shape;
    step("rotate_heads", {(d.heads + 2 * d.kv_heads + 7) / 8, count, 1}, 256, m.qkv.address(), address_of(layer.query_norm.weight),
         address_of(layer.key_norm.weight), m.cosines.address(), m.sines.address(), m.sequences(), m.positions(), m.keys.address(),
         m.values.address(), index);
    if (m.has_prompts) {
      step("attend_prompt", {d.heads, m.tile_count, 1}, 32, m.qkv.address(), m.keys.address(), m.values.address(), m.sequences(),
           m.positions(), m.tiles(), index, m.attended.address());
      return;
    }
    step("attend", {d.kv_heads, count, m.attention_parts(count, facts_.multiprocessors)}, 256, m.qkv.address(), m.keys.address(),
         m.values.address(), m.sequences(), m.positions(), index, m.partials.address(), m.counters.address(), m.attended.address());
  }

  // A product with what a norm makes of the numbers between layers.
  void multiply_normalized(const DeviceNorm& norm, const DeviceLinear& linear, End end, int64_t count, Address result,
                           int64_t result_pitch) {
    StepMemory& m = *memory_;
    const bool within = count == 1 && !shape_.style.layer_norm;
    if (!within) normalize(norm, count, 0);
    multiply(linear, end, within ? m.hidden.address() : m.normalized.address(), within ? address_of(norm.weight) : 0, count, result,
             result_pitch);
  }

  // `norm`: weights of the norm that the kernel computes; 0: none.
  void multiply(const DeviceLinear& linear, End end, Address source, Address norm, int64_t count, Address result, int64_t result_pitch) {
    int64_t before = 0;  // rows of parts
    for (const auto& part : linear.parts) {
      const auto offset = static_cast<Address>(before * static_cast<int64_t>(sizeof(float)));
      const Address bias = linear.bias ? linear.bias_address() + offset : 0;
      if (!by_library(linear, count) || !multiply_many(*part, end, source, count, result, bias, result_pitch))
        multiply_few(*part, end, source, norm, count, result + offset, bias, result_pitch);
      before += part->rows;
    }
  }

  // The library reads 16-bit weights once for all tokens. For few tokens its further launches cost more, unless the matrix is large; and
  // quantized weights would be unpacked for each product. Measured on an H200 (docs/results/lab-notes/gpu-decoder.md).
  bool by_library(const DeviceLinear& linear, int64_t count) const {
    constexpr int64_t few_tokens = 16, least_tokens = 8, large = int64_t{1} << 22;
    if (!library_ || linear.parts.size() != 1) return false;
    const DeviceMatrix& matrix = *linear.parts.front();
    if (count > most_product_tokens) return true;
    return !matrix.is_quantized() && (count > few_tokens || (count > least_tokens && matrix.rows * matrix.pitch >= large));
  }

  // As many times as it takes.
  void multiply_few(const DeviceMatrix& matrix, End end, Address source, Address norm, int64_t count, Address result, Address bias,
                    int64_t result_pitch) {
    const int64_t bytes = end == End::activate ? 2 : 4;
    const char* entry = end == End::store ? "product_store"
                        : end == End::add ? "product_add"
                        : matrix.gated    ? "product_gated"
                                          : "product_gelu";
    for (int64_t first = 0; first < count; first += most_product_tokens) {
      const int64_t tokens = std::min(count - first, most_product_tokens);
      ProductCut cut = product_cut(tokens, matrix.rows, facts_.multiprocessors);
      cut.normalizes = norm != 0;
      launch(kernels_.product(matrix.type, cut, entry), {(matrix.tiles() + cut.tiles - 1) / cut.tiles, 1, 1}, product_warps * 32,
             overlaps(), stream_->get(), matrix.numbers.address(), matrix.scales.address(),
             source + static_cast<Address>(first * matrix.pitch * 2), result + static_cast<Address>(first * result_pitch * bytes), bias,
             norm, static_cast<int>(tokens), static_cast<int>(matrix.rows), static_cast<int>(matrix.columns),
             static_cast<int>(matrix.pitch), static_cast<int>(matrix.chunks()), static_cast<int>(result_pitch));
    }
  }

  // False: the library does not do it.
  bool multiply_many(const DeviceMatrix& matrix, End end, Address source, int64_t count, Address result, Address bias,
                     int64_t result_pitch) {
    const bool activates = end == End::activate;
    const int64_t columns = activates && matrix.gated ? matrix.rows / 2 : matrix.rows;
    if (activates && columns % 8 != 0) return false;
    const Address weights = matrix.is_quantized() ? unpacked(matrix) : matrix.numbers.address();
    const Address target = activates ? memory_->wide.address() : result;
    if (!library_->run({count, matrix.rows, matrix.pitch, activates, end == End::add}, source, weights, target, stream_->get()))
      return false;
    if (activates) {
      step("activate", {(columns + 2047) / 2048, count, 1}, 256, target, bias, static_cast<int>(columns), static_cast<int>(result_pitch),
           matrix.gated ? 1 : 0, result);
    } else if (bias != 0) {
      step("add_bias", {count, 1, 1}, 256, result, bias, static_cast<int>(matrix.rows));
    }
    return true;
  }

  Address unpacked(const DeviceMatrix& matrix) {
    const Address to = memory_->unpacked.address();
    launch(kernels_.product(matrix.type, {}, "unpack_matrix"), {(matrix.chunks() + 7) / 8, matrix.tiles(), 1}, 256, overlaps(),
           stream_->get(), matrix.numbers.address(), matrix.scales.address(), static_cast<int>(matrix.rows), static_cast<int>(matrix.pitch),
           static_cast<int>(matrix.chunks()), matrix.gated ? 1 : 0, to);
    return to;
  }

  const DecoderModel& model_;
  const GpuDecoderOptions options_;
  cuda::DeviceContext context_;
  cuda::DeviceFacts facts_;
  StepKernels kernels_;
  DeviceDecoder weights_;
  std::unique_ptr<LibraryGemm> library_;
  StepShape shape_;
  std::optional<cuda::Stream> stream_;
  std::optional<StepMemory> memory_;
  std::map<int64_t, cuda::CudaGraph> graphs_;  // by tokens of a step
  std::vector<float> host_scores_;
};

}  // namespace

std::unique_ptr<DecoderSteps> make_gpu_decoder(const DecoderModel& model, int device, const GpuDecoderOptions& options) {
  return std::make_unique<GpuDecoder>(model, device, options);
}

}  // namespace deepgap::gpu
