// Files written by `deepgap models --onnx` are read by OpenVINO and give the evaluator's outputs there. (ONNX Runtime's half is in the
// conformance suite, since it is one of our engines.)
#include "model/eval/evaluator.h"
#include "model/model_source.h"
#include "model/weights/seeded.h"

#include <gtest/gtest.h>
#include <openvino/openvino.hpp>

#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

Tensor smooth_batch(int64_t batch, int64_t size) {
  Tensor input = make_tensor(DataType::f32, {batch, 3, size, size});
  const auto item = static_cast<size_t>(3 * size * size);
  for (int64_t i = 0; i < batch; ++i) {
    fill_smooth(writable<float>(input).subspan(static_cast<size_t>(i) * item, item), 3, size, size, 1, static_cast<uint64_t>(i));
  }
  return input;
}

double sqnr_db(std::span<const float> expected, const float* actual) {
  double signal = 0, noise = 1e-300;
  for (size_t i = 0; i < expected.size(); ++i) {
    signal += double{expected[i]} * expected[i];
    noise += (double{expected[i]} - actual[i]) * (double{expected[i]} - actual[i]);
  }
  return 10 * std::log10(signal / noise);
}

class OpenVino : public testing::TestWithParam<const char*> {};

TEST_P(OpenVino, LoadsWhatWeWriteAndAgrees) {
  const auto model = open_model({.name = GetParam()});
  const auto bytes = model->onnx();
  ov::Core core;
  core.set_property("CPU", ov::hint::inference_precision(ov::element::f32));
  core.set_property("CPU", ov::inference_num_threads(2));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto compiled = core.compile_model(core.read_model(text, ov::Tensor{}), "CPU");
  auto request = compiled.create_infer_request();
  const Tensor input = smooth_batch(2, 64);
  request.set_input_tensor(ov::Tensor(ov::element::f32, ov::Shape{2, 3, 64, 64}, const_cast<std::byte*>(input.data.get())));
  request.infer();

  const Tensor expected = evaluate(model->graph(), std::vector<Tensor>{input}).at(0);
  const ov::Tensor actual = request.get_output_tensor(0);
  ASSERT_EQ(actual.get_size(), expected.as<float>().size());
  EXPECT_GT(sqnr_db(expected.as<float>(), actual.data<float>()), 60) << GetParam();
}

// At 64x64, which every one of these networks takes, to keep the test short.
INSTANTIATE_TEST_SUITE_P(Zoo, OpenVino, testing::Values("resnet18:image=64", "mobilenet_v2:image=64", "efficientnet_lite0:image=64"),
                         [](const auto& info) { return std::string(info.param).substr(0, std::string(info.param).find(':')); });

}  // namespace
}  // namespace deepgap
