// Decoders, which generate tokens: SmolLM2 (Allal et al., 2025), Qwen2 (Yang et al., 2024) and GPT-2 (Radford et al., 2019), in the sizes
// that were published. Weights have the names of GGUF files. There is no vocabulary: each word of a prompt is a token with a made-up id.
#include "model/decoder/decoder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

struct Form {
  const char* name;
  const char* describe;
  DecoderShape shape;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all{
      {"smollm2_135m", "SmolLM2 135M, 30 layers of 576, as its config", {"llama", 30, 576, 1536, 9, 3, 64, 64, 8192, 49152, 1e-5, 100000}},
      {"smollm2_360m", "SmolLM2 360M, 32 layers of 960, as its config", {"llama", 32, 960, 2560, 15, 5, 64, 64, 8192, 49152, 1e-5, 100000}},
      {"qwen2_0_5b", "Qwen2 0.5B, 24 layers of 896, as its config", {"qwen2", 24, 896, 4864, 14, 2, 64, 64, 32768, 151936, 1e-6, 1000000}},
      {"gpt2", "GPT-2 124M, 12 layers of 768, as its config", {"gpt2", 12, 768, 3072, 12, 12, 64, 64, 1024, 50257, 1e-5, 10000}},
  };
  return all;
}

class ZooDecoder : public ZooModel {
 public:
  explicit ZooDecoder(const Form& form) : form_(form) {}
  std::string name() const override { return form_.name; }
  std::string describe() const override { return form_.describe; }

  Graph build(const ZooOptions& options) const override {
    const DecoderOptions given = decoder_options(form_.name, options, {form_.shape.layers, form_.shape.vocabulary, WeightType::f32});
    DecoderModel model;
    model.shape = form_.shape;
    model.shape.layers = given.layers;
    model.shape.vocabulary = given.vocabulary;
    model.stored_as = given.type;
    for (const DecoderWeightSpec& spec : decoder_weights(model.shape)) {
      if (spec.optional) continue;
      const Shape shape = spec.is_vector ? Shape{spec.columns} : Shape{spec.rows, spec.columns};
      model.weights[spec.name] = {WeightType::f32, spec.rows, spec.columns, {DataType::f32, shape, nullptr}};
    }
    return decoder_graph(form_.name, model);
  }

 private:
  Form form_;
};

bool add_all() {
  for (const Form& form : forms()) Registry<ZooModel>::instance().add(form.name, [form] { return std::make_unique<ZooDecoder>(form); });
  return true;
}

const bool registered = add_all();

}  // namespace

}  // namespace deepgap
