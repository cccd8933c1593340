#include "worker/dispatch_options.h"

#include "worker/fake_rules.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::ElementsAre;

DispatchOptions options_of(const std::vector<std::pair<std::string, std::string>>& given) {
  return dispatch_options().parse({given.begin(), given.end()});
}

std::string message_of(const std::string& name, const std::string& value) {
  try {
    options_of({{name, value}});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

Point point_of(int64_t batch, std::vector<DeviceId> devices = {DeviceId{}}) {
  Point point;
  point.batch = batch;
  point.placement.devices = std::move(devices);
  point.threads = 8;
  return point;
}

TEST(DispatchOptions, WhatTheyBeginWithIsListedAndReadable) {
  const auto values = dispatch_options().values({});
  EXPECT_EQ(dispatch_options().parse({{"instances", values.at("instances")}, {"shed", values.at("shed")}}).shedding, Shedding::none);
  EXPECT_EQ(values.at("max_delay"), "0");
  DispatchOptions options;
  EXPECT_FALSE(dispatch_options().set(options, "streams", "2"));
}

TEST(DispatchOptions, BecomeTheDispatchersSettings) {
  const auto options = options_of({{"max_batch", "32"},
                                   {"max_delay", "2ms"},
                                   {"queue_limit", "64"},
                                   {"shed", "drop-oldest"},
                                   {"choose", "least-loaded"},
                                   {"shed_allowed", "1.5%"}});
  const DispatcherSettings settings = dispatcher_settings(point_of(2), options, 100);
  EXPECT_EQ(settings.max_batch, 32);
  EXPECT_EQ(settings.max_delay, 2'000'000);
  EXPECT_EQ(settings.queue_limit, 64);
  EXPECT_EQ(settings.query_samples, 2);
  EXPECT_EQ(settings.least_in_flight, 100);
  EXPECT_EQ(settings.shedding, Shedding::drop_oldest);
  EXPECT_EQ(settings.choice, InstanceChoice::least_loaded);
  EXPECT_TRUE(settings.batch_sizes.empty());
  EXPECT_DOUBLE_EQ(options.shed_allowed, 0.015);
}

TEST(DispatchOptions, WrongValuesAreOneLine) {
  EXPECT_EQ(message_of("instances", "0"), "invalid value '0' for instances: expected a whole number from 1 to 1024");
  EXPECT_EQ(message_of("max_delay", "5"), "invalid value '5' for max_delay: expected a time from 0 to 1m, such as 2ms");
  EXPECT_EQ(message_of("shed_allowed", "0.5"), "invalid value '0.5' for shed_allowed: expected a percentage from 0% to 100%");
  EXPECT_EQ(message_of("shed_allowed", "nan%"), "invalid value 'nan%' for shed_allowed: expected a percentage from 0% to 100%");
  EXPECT_EQ(message_of("shed", "drop-oldes"),
            "invalid value 'drop-oldes' for shed: expected none, reject-newest or drop-oldest; did you mean 'drop-oldest'?");
}

TEST(DispatchOptions, ABareSessionNeedsNoDispatcher) {
  Point point = point_of(4);
  point.options["streams"] = "2";
  EXPECT_FALSE(needs_dispatcher(point));
  point.options["max_batch"] = "4";
  EXPECT_TRUE(needs_dispatcher(point));
  EXPECT_TRUE(needs_dispatcher(point_of(4, {{"", "cuda", 0}, {"", "cuda", 1}})));
}

TEST(DispatchOptions, SizesAreThoseThatABatchCanHave) {
  EXPECT_THAT(batch_sizes(point_of(4), {}), ElementsAre(4));
  EXPECT_THAT(batch_sizes(point_of(1), options_of({{"max_batch", "4"}})), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(batch_sizes(point_of(4), options_of({{"max_batch", "12"}})), ElementsAre(4, 8, 12));
  EXPECT_THAT(batch_sizes(point_of(4), options_of({{"max_batch", "6"}})), ElementsAre(2, 4, 6)) << "queries are torn apart";
  EXPECT_THAT(batch_sizes(point_of(1), options_of({{"max_batch", "12"}, {"pad", "power-of-two"}})), ElementsAre(1, 2, 4, 8, 12));
  EXPECT_THAT(batch_sizes(point_of(4), options_of({{"max_batch", "32"}, {"pad", "power-of-two"}})), ElementsAre(4, 8, 16, 32));
}

// Takes everything; notes what it was asked about.
class NotingBackend final : public Backend {
 public:
  std::string name() const override { return "noting"; }
  std::string version() const override { return "1"; }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override { return {}; }
  std::vector<OptionInfo> options() const override { return {}; }
  Support supports(const EngineRequest& request, const GraphSummary&) const override {
    asked.push_back(request);
    return request.placement.devices.front().index < 2 ? Support{} : Support{false, "no such device"};
  }
  std::unique_ptr<Session> load(const Model&, const LoadOptions&) override { return nullptr; }
  mutable std::vector<EngineRequest> asked;
};

TEST(DispatchOptions, ABackendIsAskedAboutOneDeviceAtATime) {
  const NotingBackend backend;
  Point point = point_of(1, {{"", "cuda", 0}, {"", "cuda", 1}});
  EXPECT_TRUE(supports_everywhere(backend, point, {}, {}, {.batch_sizes = {8}}).ok);
  ASSERT_EQ(backend.asked.size(), 2U);
  EXPECT_EQ(backend.asked[1].placement, (Placement{1, {{"", "cuda", 1}}}));
  EXPECT_THAT(backend.asked[1].batch_sizes, ElementsAre(8)) << "those that it will get";
  point.placement.devices.push_back({"", "cuda", 2});
  EXPECT_EQ(supports_everywhere(backend, point, {}, {}, {}).reason, "no such device");
  point.placement.processes = 2;
  EXPECT_EQ(supports_everywhere(backend, point, {}, {}, {}).reason, "3 devices cannot be shared out evenly among 2 processes");
  point.placement = {1, {{"", "cuda", 0}, {"", "cuda", 0}}};
  EXPECT_THAT(supports_everywhere(backend, point, {}, {}, {}).reason, ::testing::HasSubstr("cuda:0 is listed twice"));
  point.placement = {2, {{"", "cuda", 0}}};
  point.options["fake_rules"] = "on";
  EXPECT_EQ(supports_everywhere(backend, point, {}, {}, {}).reason, "fake rules take one process");
}

TEST(DispatchOptions, CpusAreSharedOutWhereThereAreEnough) {
  EXPECT_THAT(cpu_share({0, 1, 4, 5, 9}, 0, 2), ElementsAre(0, 1));
  EXPECT_THAT(cpu_share({0, 1, 4, 5, 9}, 1, 2), ElementsAre(4, 5));
  EXPECT_THAT(cpu_share({0, 1}, 2, 3), ElementsAre(0, 1));
}

TEST(DispatchOptions, ACpusThreadsAreSharedOut) {
  const auto loads = instance_loads(point_of(1), options_of({{"instances", "3"}}));
  ASSERT_EQ(loads.size(), 3U);
  EXPECT_EQ(loads[2].name, "cpu #3");
  EXPECT_EQ(loads[2].threads, 2);
  const auto gpus = instance_loads(point_of(1, {{"", "cuda", 0}, {"", "cuda", 1}}), {});
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[1].name, "cuda:1");
  EXPECT_EQ(gpus[1].threads, 8);
}

}  // namespace
}  // namespace deepgap
