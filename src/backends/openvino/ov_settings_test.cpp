#include "backends/openvino/ov_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openvino/runtime/properties.hpp>

namespace deepgap {
namespace {

using testing::HasSubstr;

OvSettings settings_of(EngineOptions options, int threads = 3) { return ov_settings({.threads = threads, .options = std::move(options)}); }

std::string complaint(const std::string& option, const std::string& value) {
  try {
    settings_of({{option, value}});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(OvSettings, DefaultsAreThoseListed) {
  std::map<std::string, std::string> listed;
  for (const OptionInfo& option : ov_options().infos()) listed[option.name] = option.default_value;
  EXPECT_EQ(ov_properties(settings_of({}, 3), Precision::fp32, 1), ov_properties(settings_of(listed, 3), Precision::fp32, 1));
}

TEST(OvSettings, PrecisionAndThreadsAreAlwaysSaid) {
  const auto precision = [](Precision asked) {
    return ov_properties(settings_of({}, 3), asked, 1).at(ov::hint::inference_precision.name()).as<ov::element::Type>();
  };
  EXPECT_EQ(precision(Precision::fp32), ov::element::f32);
  EXPECT_EQ(precision(Precision::bf16), ov::element::bf16);
  EXPECT_EQ(precision(Precision::int8), ov::element::f32) << "of what is not quantized";
  EXPECT_EQ(ov_properties(settings_of({}, 3), Precision::fp32, 1).at(ov::inference_num_threads.name()).as<int>(), 3);
}

TEST(OvSettings, OptionsBecomeProperties) {
  const auto given =
      settings_of({{"hint", "throughput"}, {"streams", "4"}, {"pin", "off"}, {"hyper_threading", "on"}, {"profile", "on"}}, 8);
  const ov::AnyMap map = ov_properties(given, Precision::fp32, 6);
  EXPECT_EQ(map.at(ov::hint::performance_mode.name()).as<ov::hint::PerformanceMode>(), ov::hint::PerformanceMode::THROUGHPUT);
  EXPECT_EQ(map.at(ov::hint::num_requests.name()).as<uint32_t>(), 6u);
  EXPECT_EQ(map.at(ov::num_streams.name()).as<ov::streams::Num>(), 4);
  EXPECT_FALSE(map.at(ov::hint::enable_cpu_pinning.name()).as<bool>());
  EXPECT_TRUE(map.at(ov::hint::enable_hyper_threading.name()).as<bool>());
  EXPECT_TRUE(map.at(ov::enable_profiling.name()).as<bool>());
}

TEST(OvSettings, WhatIsLeftToTheLibraryIsNotSaid) {
  const ov::AnyMap map = ov_properties(settings_of({{"hint", "none"}}, 2), Precision::fp32, 1);
  EXPECT_EQ(map.size(), 2u) << "precision and threads";
}

TEST(OvSettings, WrongValuesAreNamed) {
  EXPECT_THAT(complaint("hint", "latncy"), HasSubstr("did you mean 'latency'"));
  EXPECT_THAT(complaint("streams", "0"), HasSubstr("invalid value '0' for streams: expected "));
  EXPECT_THAT(complaint("streams", "some"), HasSubstr("expected auto or a whole number from 1 to 1024"));
  EXPECT_THAT(complaint("pin", "maybe"), HasSubstr("pin"));
  EXPECT_THAT(complaint("profile", "auto"), HasSubstr("profile"));
}

}  // namespace
}  // namespace deepgap
