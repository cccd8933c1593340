#include "plan/usual_names.h"

#include "plan/point_fields.h"

#include <deepgap/point.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(UsualNames, in_any_case_and_by_other_tools) {
  EXPECT_EQ(usual_name("precision", "FP16"), "fp16");
  EXPECT_EQ(usual_name("precision", "f32"), "fp32");
  EXPECT_EQ(usual_name("backend", "ort"), "onnxruntime");
  EXPECT_EQ(usual_name("backend", "ORT"), "onnxruntime");
  EXPECT_EQ(usual_name("backend", "OpenVINO"), "openvino");
  EXPECT_EQ(usual_name("scenario", "SingleStream"), "single-stream");
  EXPECT_EQ(usual_name("scenario", "Offline"), "offline");
  EXPECT_EQ(usual_name("device", "CPU"), "cpu");
  EXPECT_EQ(usual_name("device", "gpu"), "cuda:0");
  EXPECT_EQ(usual_name("device", "gpuu"), "gpuu") << "a message quotes what was written";
  EXPECT_EQ(usual_name("device", "CUDA:1"), "cuda:1");
  EXPECT_EQ(usual_name("device", "0"), "cuda:0");
  EXPECT_EQ(usual_name("device", "cuda:0+cuda:1"), "cuda:0+cuda:1");
  EXPECT_EQ(usual_name("device", "2p:cuda:0+cuda:1"), "2p:cuda:0+cuda:1");
}

TEST(UsualNames, what_is_not_known_stays) {
  EXPECT_EQ(usual_name("backend", "nul"), "nul");
  EXPECT_EQ(usual_name("device", "Host/cuda:0"), "Host/cuda:0");
  EXPECT_EQ(usual_name("model", "My.onnx"), "My.onnx");
  EXPECT_EQ(usual_name("dataset", "FP16"), "FP16");
}

TEST(UsualNames, a_point_has_ours) {
  Point point;
  set_on_point(point, "precision", "FP16", 1);
  set_on_point(point, "backend", "Ort", 1);
  EXPECT_EQ(point.precision, Precision::fp16);
  EXPECT_EQ(point.backend, "onnxruntime");
}

}  // namespace
}  // namespace deepgap
