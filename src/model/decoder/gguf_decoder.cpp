#include "model/decoder/gguf_decoder.h"

#include "base/text.h"
#include "base/words.h"
#include "model/decoder/decoder.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

// No network that is used is near these; a hostile file may name any number.
constexpr int64_t most_layers = 1024, most_size = 1 << 20, most_vocabulary = 1 << 22, most_context = int64_t{1} << 26;

[[noreturn]] void refuse(const GgufFile& file, const std::string& cause) {
  throw Error(ErrorKind::refused, fmt::format("{}: {}", file.path, one_line(cause)));
}

// The sizes of the file's network.
class Sizes {
 public:
  Sizes(const GgufFile& file, const std::string& architecture) : file_(file), prefix_(architecture + ".") {}

  std::optional<int64_t> find(const std::string& key, int64_t least, int64_t most) const {
    const std::string name = prefix_ + key;
    if (!file_.metadata.contains(name)) return std::nullopt;
    const int64_t* value = file_.find<int64_t>(name);
    if (value == nullptr) file_.fail(fmt::format("its metadata '{}' is not a single whole number", name));
    if (*value < least || *value > most) file_.fail(fmt::format("its metadata '{}' is {}: expected {} to {}", name, *value, least, most));
    return *value;
  }
  int64_t get(const std::string& key, int64_t most) const {
    const auto value = find(key, 1, most);
    if (!value) file_.fail(fmt::format("it has no metadata '{}{}'", prefix_, key));
    return *value;
  }
  double real(const std::string& key, double otherwise) const {
    const double* value = file_.find<double>(prefix_ + key);
    if (value == nullptr) return otherwise;
    if (!std::isfinite(*value) || *value <= 0) file_.fail(fmt::format("its metadata '{}{}' is not a positive number", prefix_, key));
    return *value;
  }
  std::string text(const std::string& key) const {
    const auto* value = file_.find<std::string>(prefix_ + key);
    return value == nullptr ? "" : *value;
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

const DecoderStyle& style_of(const GgufFile& file) {
  const auto* name = file.find<std::string>("general.architecture");
  if (name == nullptr) file.fail("it has no metadata 'general.architecture'");
  const DecoderStyle* style = find_decoder_style(*name);
  if (style == nullptr) refuse(file, fmt::format("its architecture is '{}': deepgap runs {}", *name, join(decoder_architectures(), ", ")));
  return *style;
}

// Refuses what would change the numbers without being noticed.
void refuse_other_forms(const GgufFile& file, const Sizes& sizes, const DecoderShape& shape) {
  if (sizes.find("expert_count", 0, most_size).value_or(0) > 0) refuse(file, "it is a mixture of experts, which deepgap does not run");
  const std::string scaling = sizes.text("rope.scaling.type");
  if (!scaling.empty() && scaling != "none")
    refuse(file, fmt::format("its positions are scaled ('{}'), which deepgap does not do", scaling));
  for (const char* key : {"attention.key_length", "attention.value_length"})
    if (sizes.find(key, 1, most_size).value_or(shape.head_size) != shape.head_size)
      refuse(file, "its keys and values are of unlike size, which deepgap does not run");
  for (const char* key : {"attention.sliding_window"})
    if (sizes.find(key, 0, most_context).value_or(0) != 0 && sizes.find(key, 0, most_context).value_or(0) < shape.context)
      refuse(file, "its attention has a sliding window, which deepgap does not do");
}

int64_t vocabulary_of(const GgufFile& file) {
  const auto found = file.tensors.find("token_embd.weight");
  if (found == file.tensors.end()) file.fail("it has no tensor 'token_embd.weight'");
  if (found->second.shape.size() != 2 || found->second.shape[0] < 1 || found->second.shape[0] > most_vocabulary)
    file.fail("its tensor 'token_embd.weight' is not a matrix with a row for each token");
  return found->second.shape[0];
}

DecoderShape shape_of(const GgufFile& file, const DecoderStyle& style) {
  const Sizes sizes(file, style.architecture);
  DecoderShape shape;
  shape.architecture = style.architecture;
  shape.layers = sizes.get("block_count", most_layers);
  shape.embedding = sizes.get("embedding_length", most_size);
  shape.feed_forward = sizes.get("feed_forward_length", most_size);
  shape.heads = sizes.get("attention.head_count", most_size);
  shape.kv_heads = sizes.find("attention.head_count_kv", 1, most_size).value_or(shape.heads);
  shape.head_size = sizes.find("attention.key_length", 1, most_size).value_or(shape.embedding / shape.heads);
  shape.rope_size = sizes.find("rope.dimension_count", 1, most_size).value_or(shape.head_size);
  shape.context = sizes.get("context_length", most_context);
  shape.vocabulary = vocabulary_of(file);
  shape.norm_epsilon = sizes.real(style.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5);
  shape.rope_base = sizes.real("rope.freq_base", 10000);
  if (shape.heads % shape.kv_heads != 0)
    file.fail(fmt::format("it has {} heads for {} heads of keys: not a multiple", shape.heads, shape.kv_heads));
  if (shape.head_size < 1 || shape.head_size > 1024 || shape.head_size % 2 != 0 || shape.rope_size % 2 != 0 ||
      shape.rope_size > shape.head_size)
    file.fail(fmt::format("its heads have {} numbers, of which {} are rotated: expected even numbers up to 1024", shape.head_size,
                          shape.rope_size));
  refuse_other_forms(file, sizes, shape);
  return shape;
}

DataType held_as(WeightType type) {
  if (type == WeightType::f32) return DataType::f32;
  if (type == WeightType::f16) return DataType::f16;
  return type == WeightType::bf16 ? DataType::bf16 : DataType::u8;
}

DecoderWeight weight_of(const GgufFile& file, const DecoderWeightSpec& spec, const GgufTensor& tensor) {
  const WeightFormat* format = find_weight_format(tensor.type_number);
  if (format == nullptr) {
    std::vector<std::string> names;
    for (const WeightFormat& known : weight_formats()) names.emplace_back(known.name);
    refuse(file,
           fmt::format("tensor '{}' is of type {}: deepgap reads {}", spec.name, gguf_type_name(tensor.type_number), join(names, ", ")));
  }
  const std::vector<int64_t> wanted = spec.is_vector ? std::vector<int64_t>{spec.columns} : std::vector<int64_t>{spec.rows, spec.columns};
  if (tensor.shape != wanted)
    file.fail(
        fmt::format("tensor '{}' has the shape [{}]: expected [{}]", spec.name, fmt::join(tensor.shape, ","), fmt::join(wanted, ",")));
  const DataType held = held_as(format->type);
  Shape shape = wanted;
  if (held == DataType::u8) shape.back() = row_bytes(format->type, spec.columns);
  return {format->type, spec.rows, spec.columns, {held, shape, tensor.data}};
}

int64_t token_id(const GgufFile& file, const std::string& key, int64_t vocabulary) {
  const int64_t* id = file.find<int64_t>("tokenizer.ggml." + key);
  if (id == nullptr) return -1;
  if (*id < 0 || *id >= vocabulary) file.fail(fmt::format("its {} is {}, outside of the vocabulary of {}", key, *id, vocabulary));
  return *id;
}

template <typename T>
T value_or(const GgufFile& file, const std::string& key, T otherwise) {
  const T* value = file.find<T>(key);
  return value == nullptr ? std::move(otherwise) : *value;
}

TokenizerData tokenizer_of(const GgufFile& file, int64_t vocabulary) {
  const std::string prefix = "tokenizer.ggml.";
  TokenizerData tokenizer;
  tokenizer.model = value_or<std::string>(file, prefix + "model", "");
  tokenizer.split = value_or<std::string>(file, prefix + "pre", "default");
  tokenizer.tokens = value_or<std::vector<std::string>>(file, prefix + "tokens", {});
  tokenizer.kinds = value_or<std::vector<int64_t>>(file, prefix + "token_type", {});
  tokenizer.merges = value_or<std::vector<std::string>>(file, prefix + "merges", {});
  tokenizer.scores = value_or<std::vector<double>>(file, prefix + "scores", {});
  if (static_cast<int64_t>(tokenizer.tokens.size()) > vocabulary)
    file.fail(fmt::format("its tokenizer has {} tokens, its vocabulary {}", tokenizer.tokens.size(), vocabulary));
  if (!tokenizer.kinds.empty() && tokenizer.kinds.size() != tokenizer.tokens.size())
    file.fail(fmt::format("its tokenizer has {} tokens and {} kinds of tokens", tokenizer.tokens.size(), tokenizer.kinds.size()));
  tokenizer.begin = token_id(file, "bos_token_id", vocabulary);
  tokenizer.end = token_id(file, "eos_token_id", vocabulary);
  tokenizer.adds_begin = value_or<bool>(file, prefix + "add_bos_token", false);
  tokenizer.chat_template = value_or<std::string>(file, "tokenizer.chat_template", "");
  return tokenizer;
}

}  // namespace

Graph gguf_decoder(const GgufFile& file) {
  const DecoderStyle& style = style_of(file);
  DecoderModel model;
  model.shape = shape_of(file, style);
  for (const DecoderWeightSpec& spec : decoder_weights(model.shape)) {
    const auto found = file.tensors.find(spec.name);
    if (found == file.tensors.end() && spec.optional) continue;
    if (found == file.tensors.end()) file.fail(fmt::format("it has no tensor '{}'", spec.name));
    model.weights[spec.name] = weight_of(file, spec, found->second);
  }
  model.tokenizer = tokenizer_of(file, model.shape.vocabulary);
  return decoder_graph(std::filesystem::path(file.path).stem().string(), model);
}

Graph read_gguf_decoder(const std::string& path) { return gguf_decoder(read_gguf(path)); }

}  // namespace deepgap
