#include "backends/openvino/ov_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openvino/runtime/properties.hpp>

namespace deepgap {
namespace {

using testing::HasSubstr;

std::string complaint(const std::string& option, const std::string& value, int threads = 1) {
  try {
    parse_ov_settings({{option, value}}, threads);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(OvSettings, DefaultsAreThoseListed) {
  std::map<std::string, std::string> listed;
  for (const OptionInfo& option : ov_option_infos()) listed[option.name] = option.default_value;
  EXPECT_EQ(ov_properties(parse_ov_settings({}, 3), "fp32", 1), ov_properties(parse_ov_settings(listed, 3), "fp32", 1));
}

TEST(OvSettings, PrecisionAndThreadsAreAlwaysSaid) {
  const auto precision = [](const std::string& name) {
    return ov_properties(parse_ov_settings({}, 3), name, 1).at(ov::hint::inference_precision.name()).as<ov::element::Type>();
  };
  EXPECT_EQ(precision("fp32"), ov::element::f32);
  EXPECT_EQ(precision("bf16"), ov::element::bf16);
  EXPECT_EQ(precision("int8"), ov::element::f32) << "of what is not quantized";
  EXPECT_EQ(ov_properties(parse_ov_settings({}, 3), "fp32", 1).at(ov::inference_num_threads.name()).as<int>(), 3);
}

TEST(OvSettings, OptionsBecomeProperties) {
  const auto given =
      parse_ov_settings({{"hint", "throughput"}, {"streams", "4"}, {"pin", "off"}, {"hyper_threading", "on"}, {"profile", "on"}}, 8);
  const ov::AnyMap map = ov_properties(given, "fp32", 6);
  EXPECT_EQ(map.at(ov::hint::performance_mode.name()).as<ov::hint::PerformanceMode>(), ov::hint::PerformanceMode::THROUGHPUT);
  EXPECT_EQ(map.at(ov::hint::num_requests.name()).as<uint32_t>(), 6u);
  EXPECT_EQ(map.at(ov::num_streams.name()).as<ov::streams::Num>(), 4);
  EXPECT_FALSE(map.at(ov::hint::enable_cpu_pinning.name()).as<bool>());
  EXPECT_TRUE(map.at(ov::hint::enable_hyper_threading.name()).as<bool>());
  EXPECT_TRUE(map.at(ov::enable_profiling.name()).as<bool>());
}

TEST(OvSettings, WhatIsLeftToTheLibraryIsNotSaid) {
  const ov::AnyMap map = ov_properties(parse_ov_settings({{"hint", "none"}}, 2), "fp32", 1);
  EXPECT_EQ(map.size(), 2u) << "precision and threads";
}

TEST(OvSettings, WrongValuesAreNamed) {
  EXPECT_THAT(complaint("hint", "latncy"), HasSubstr("did you mean 'latency'"));
  EXPECT_THAT(complaint("streams", "0"), HasSubstr("streams=0"));
  EXPECT_THAT(complaint("streams", "some"), HasSubstr("expected auto or 1 to 1024"));
  EXPECT_THAT(complaint("pin", "maybe"), HasSubstr("pin"));
  EXPECT_THAT(complaint("profile", "auto"), HasSubstr("profile"));
  EXPECT_THAT(complaint("hint", "none", 0), HasSubstr("threads=0"));
}

}  // namespace
}  // namespace deepgap
