#include "backends/tensorflow/tf_settings.h"

#include "base/test_error.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

EngineRequest on_cpu(Precision precision = Precision::fp32, std::map<std::string, std::string> options = {}) {
  EngineRequest request;
  request.placement.devices = {DeviceId{}};
  request.precision = precision;
  request.options = std::move(options);
  return request;
}

GraphSummary network_of(const std::string& op, const std::string& domain = "") {
  GraphSummary summary;
  summary.operators = {{op, domain, 1, "the_node"}};
  return summary;
}

TEST(TfSettings, Defaults) {
  const TfSettings settings = tf_settings(on_cpu());
  EXPECT_EQ(settings.inter_op, 1);
  EXPECT_TRUE(settings.optimizes && settings.onednn);
  EXPECT_FALSE(settings.xla || settings.mixed);
}

TEST(TfSettings, ConfigHasThreadsAndMixedPrecision) {
  // ConfigProto: intra_op_parallelism_threads = 2, inter_op_parallelism_threads = 5, graph_options = 10.
  TfSettings settings;
  settings.threads = 3;
  settings.inter_op = 2;
  const std::string plain = tf_config(settings);
  EXPECT_EQ(plain.substr(0, 4), std::string("\x10\x03\x28\x02", 4));
  settings.mixed = true;
  // RewriterConfig: auto_mixed_precision_onednn_bfloat16 = 31, ON = 1.
  EXPECT_EQ(plain.find(std::string("\xf8\x01\x01", 3)), std::string::npos);
  EXPECT_NE(tf_config(settings).find(std::string("\xf8\x01\x01", 3)), std::string::npos);
}

TEST(TfSettings, OperatorsWithoutTranslationAreNamed) {
  EXPECT_EQ(tf_refusal(on_cpu(), network_of("Conv")), "");
  EngineRequest together = on_cpu();
  together.task = Task::train;
  together.train.ranks = 2;
  EXPECT_EQ(tf_refusal(together, network_of("Conv")), "one process and one device only");
  EXPECT_EQ(tf_refusal(on_cpu(), network_of("Loop")), "operator Loop has no translation to TensorFlow (node 'the_node')");
  EXPECT_EQ(tf_refusal(on_cpu(), network_of("Conv", "com.example")),
            "operator com.example.Conv has no translation to TensorFlow (node 'the_node')");
}

TEST(TfSettings, Precisions) {
  EXPECT_EQ(tf_refusal(on_cpu(), network_of("Conv")), "");
  const std::string here = tf_bf16_defect(__builtin_cpu_supports("avx512f") != 0);
  for (const Precision precision : {Precision::bf16, Precision::mixed}) EXPECT_EQ(tf_refusal(on_cpu(precision), network_of("Conv")), here);
  EXPECT_EQ(tf_bf16_defect(true), "");
  EXPECT_NE(tf_bf16_defect(false).find("need AVX-512"), std::string::npos);
  EXPECT_NE(tf_refusal(on_cpu(Precision::int8), network_of("Conv")).find("precision int8 is not supported"), std::string::npos);
  EXPECT_EQ(tf_refusal(on_cpu(Precision::fp16), network_of("Conv")),
            "precision fp16 is not supported on the CPU, only fp32, bf16 and mixed");
  if (here.empty()) {
    EXPECT_NE(tf_refusal(on_cpu(Precision::bf16, {{"grappler", "off"}}), network_of("Conv")).find("leave tensorflow.grappler on"),
              std::string::npos);
  }
}

TEST(TfSettings, OtherDevicesAreRefused) {
  EngineRequest request = on_cpu();
  request.placement.devices = {{"", "cuda", 0}};
  EXPECT_EQ(tf_refusal(request, network_of("Conv")), "device cuda:0 is not supported, only the CPU");
}

}  // namespace
}  // namespace deepgap
