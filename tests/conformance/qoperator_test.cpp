// Files of ONNX Runtime's quantizer in its QOperator form (tests/data/qoperator/make.py), which the reader turns into QuantizeLinear and
// DequantizeLinear around operators on numbers: every engine computes what the reference interpreter does, and ONNX Runtime computes it
// from the file as its quantizer wrote it, too.
#include "blame.h"
#include "rig.h"
#include "tolerance.h"

#include "base/file.h"
#include "model/onnx_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace deepgap::conformance {
namespace {

class QOperatorFiles : public testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return fmt::format("tests/data/qoperator/{}.onnx", GetParam()); }

  void expect_right(const GraphModel& model) {
    if (const Support support = supports("int8", model.summary()); !support.ok)
      GTEST_SKIP() << backend().name() << " does not run int8: " << support.reason;
    Random random(seed());
    const Samples samples = random_samples(random, model.graph(), 3);
    Rig rig(model, {1, 3}, 1, 2, "int8");
    rig.stage(samples);
    for (const std::vector<uint32_t>& chosen : {std::vector<uint32_t>{2, 0, 1}, {1}}) {
      ASSERT_EQ(rig.run(0, chosen), Status::ok) << rig.last_error();
      const std::vector<Tensor> expected = reference(model.graph(), samples, chosen);
      const Judge judge = within_tolerance("int8");
      const Difference wrong = judge(expected, rig.session->outputs(0));
      SCOPED_TRACE(fmt::format("batch {}", chosen.size()));
      const std::string fault = wrong.none() ? "" : blame(wrong, expected, judge);
      if (!fault.empty()) GTEST_SKIP() << fault;
    }
  }
};

TEST_P(QOperatorFiles, EqualTheEvaluator) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not here: run from the source tree";
  expect_right(GraphModel(read_onnx(path())));
}

TEST_P(QOperatorFiles, MeanWhatOnnxRuntimeMakesOfThem) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not here: run from the source tree";
  if (backend().name() != "onnxruntime") GTEST_SKIP() << "its own files are its own";
  expect_right(GraphModel(read_onnx(path()), read_text(path())));
}

INSTANTIATE_TEST_SUITE_P(All, QOperatorFiles,
                         testing::Values("attention", "attention_per_channel", "gates", "gates_per_channel", "residual",
                                         "residual_per_channel"));

}  // namespace
}  // namespace deepgap::conformance
