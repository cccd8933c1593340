#include "backends/onnxruntime/ort_generate.h"

#include "backends/generate/onnx_generate_tests.h"
#include "backends/onnxruntime/ort_backend.h"
#include "backends/onnxruntime/ort_decoder_steps.h"
#include "backends/onnxruntime/ort_network.h"

namespace deepgap {

INSTANTIATE_TYPED_TEST_SUITE_P(Ort, OnnxGenerate, OrtBackend);

namespace {

class OrtDecoder : public OnnxDecoderRig {};

TEST_F(OrtDecoder, APromptAtOnceGivesWhatItGivesTokenByToken) {
  const auto model = model_of(tiny_.graph());
  OrtDecoderSteps steps(onnx_decoder_of(model->graph()), open_ort_file(model->file(), options_, {}), 0, {});
  steps.make_cache(2, 40);
  const std::vector<int64_t> prompt{3, 1, 4, 1, 5, 9, 2, 6};
  std::vector<DecoderRow> rows;
  for (size_t i = 0; i < prompt.size(); ++i) rows.push_back({0, static_cast<int64_t>(i), prompt[i], i + 1 == prompt.size()});
  steps.run(rows);
  const std::vector<float> wanted(steps.scores(0).begin(), steps.scores(0).end());
  for (DecoderRow& row : rows) {
    row.sequence = 1;
    steps.run({&row, 1});
  }
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(steps.scores(0)[i], wanted[i], 1e-4F);
  EXPECT_EQ(steps.best_token(0), std::max_element(wanted.begin(), wanted.end()) - wanted.begin());
}

}  // namespace
}  // namespace deepgap
