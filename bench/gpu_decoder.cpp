// Speed of a decoder's steps on a GPU (engine/gpu/decoder), with weights made of few rows that repeat: prompt tokens a second of one
// prompt, and tokens a second of answers for several numbers of sequences, as llama-bench's pp and tg. Wants a GPU.
//
//     gpu_decoder --network llama_8b --type bf16 --batch 1,16 --prompt 512 --tokens 64
#include "engine/gpu/decoder/gpu_decoder.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>

namespace {

using namespace deepgap;

const std::map<std::string, DecoderShape> networks{{"llama_8b", {"llama", 32, 4096, 14336, 32, 8, 128, 128, 8192, 128256, 1e-5, 500000}},
                                                   {"smollm2_135m", {"llama", 30, 576, 1536, 9, 3, 64, 64, 8192, 49152, 1e-5, 100000}},
                                                   {"qwen2_0_5b", {"qwen2", 24, 896, 4864, 14, 2, 64, 64, 32768, 151936, 1e-6, 1000000}}};

struct Settings {
  std::string network = "smollm2_135m", type = "bf16", halves = "bf16";
  std::vector<int64_t> batches{1, 16};
  int64_t layers = 0, prompt = 512, tokens = 64, repeats = 3;
  bool graph = true, libraries = true;
};

DecoderWeight repeating(WeightType type, int64_t rows, int64_t columns) {
  constexpr int64_t distinct = 61;
  if (rows > 1 && columns % format_of(type).block != 0)
    throw Error(ErrorKind::usage, "the type's blocks do not divide the network's columns");
  const int64_t bytes = row_bytes(type, columns);
  std::mt19937 random(static_cast<unsigned>(rows + columns));
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(columns)));
  Tensor data = make_tensor(DataType::u8, {rows * bytes});
  auto* to = writable<uint8_t>(data).data();
  std::vector<float> values(static_cast<size_t>(columns));
  for (int64_t row = 0; row < rows; ++row) {
    if (row >= distinct) {
      std::memcpy(to + row * bytes, to + row % distinct * bytes, static_cast<size_t>(bytes));
      continue;
    }
    for (float& value : values) value = rows == 1 ? 1 : normal(random);
    quantize_row(type, values, reinterpret_cast<std::byte*>(to + row * bytes));
  }
  return {type, rows, columns, data};
}

DecoderModel model_of(const Settings& settings) {
  DecoderModel model;
  model.shape = networks.at(settings.network);
  if (settings.layers > 0) model.shape.layers = settings.layers;
  const WeightType type = find_weight_format(settings.type)->type;
  for (const DecoderWeightSpec& spec : decoder_weights(model.shape))
    if (!spec.optional || (spec.name == "output.weight" && model.shape.embedding > 1024))
      model.weights[spec.name] = repeating(spec.is_vector ? WeightType::f32 : type, spec.rows, spec.columns);
  return model;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void prefill(DecoderSteps& steps, int64_t sequence, int64_t prompt) {
  for (int64_t at = 0; at < prompt;) {
    std::vector<DecoderRow> rows;
    for (; at < prompt && static_cast<int64_t>(rows.size()) < steps.most_rows(); ++at)
      rows.push_back({sequence, at, at % 1000, at + 1 == prompt});
    steps.run(rows);
  }
}

double decode(DecoderSteps& steps, int64_t batch, int64_t prompt, int64_t tokens) {
  std::vector<int64_t> last(static_cast<size_t>(batch), 1);
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<DecoderRow> rows;
    for (int64_t s = 0; s < batch; ++s) rows.push_back({s, prompt + t, last[static_cast<size_t>(s)], true});
    steps.run(rows);
    for (int64_t s = 0; s < batch; ++s) last[static_cast<size_t>(s)] = steps.best_token(static_cast<size_t>(s));
  }
  return seconds_since(begin);
}

void measure(const Settings& settings) {
  const DecoderModel model = model_of(settings);
  const gpu::GpuDecoderOptions options{.halves = settings.halves == "bf16" ? gpu::Element::bf16 : gpu::Element::f16,
                                       .cuda_graph = settings.graph,
                                       .libraries = settings.libraries,
                                       .cache_folder = {}};
  const auto steps = gpu::make_gpu_decoder(model, 0, options);
  const auto weights = static_cast<double>(steps->weight_bytes());
  fmt::print("{} {} in {}, {} layers, weights of {:.3f} GB\n", settings.network, settings.type, settings.halves, model.shape.layers,
             weights / 1e9);
  for (const int64_t batch : settings.batches) {
    steps->make_cache(batch, settings.prompt + settings.tokens);
    for (int64_t repeat = 0; repeat <= settings.repeats; ++repeat) {
      prefill(*steps, 0, settings.prompt);
      const auto begin = std::chrono::steady_clock::now();
      for (int64_t s = 0; s < batch; ++s) prefill(*steps, s, settings.prompt);
      const double prefilled = seconds_since(begin), decoded = decode(*steps, batch, settings.prompt, settings.tokens);
      if (repeat == 0) continue;  // compiles and records
      const auto count = static_cast<double>(settings.tokens);
      fmt::print("batch {:3}: prompt of {} {:9.0f} tokens/s, answers {:9.1f} tokens/s, {:.3f} ms a step\n", batch, settings.prompt,
                 static_cast<double>(batch * settings.prompt) / prefilled, static_cast<double>(batch) * count / decoded,
                 1e3 * decoded / count);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Times a decoder's steps on a GPU"};
  app.add_option("--network", settings.network);
  app.add_option("--type", settings.type, "of the weights: f32, f16, bf16, q8_0, q4_0, q4_1");
  app.add_option("--halves", settings.halves, "f16 or bf16");
  app.add_option("--batch", settings.batches)->delimiter(',');
  app.add_option("--layers", settings.layers);
  app.add_option("--prompt", settings.prompt);
  app.add_option("--tokens", settings.tokens);
  app.add_option("--repeats", settings.repeats);
  app.add_flag("!--no-graph", settings.graph);
  app.add_flag("!--no-libraries", settings.libraries);
  CLI11_PARSE(app, argc, argv);
  try {
    measure(settings);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "gpu_decoder: {}\n", failure.what());
    return 1;
  }
  return 0;
}
