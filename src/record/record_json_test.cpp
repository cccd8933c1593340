#include "record/record_json.h"

#include "record/example_record.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <random>

namespace deepgap {
namespace {

using nlohmann::json;

TEST(Names, ComeBack) {
  for (int i = 0; i <= static_cast<int>(Outcome::interrupted); ++i) {
    EXPECT_EQ(outcome_from(name_of(static_cast<Outcome>(i))), static_cast<Outcome>(i));
  }
  for (int i = 0; i <= static_cast<int>(Verdict::invalid); ++i) {
    EXPECT_EQ(verdict_from(name_of(static_cast<Verdict>(i))), static_cast<Verdict>(i));
  }
  EXPECT_EQ(outcome_from("fine"), std::nullopt);
  EXPECT_EQ(name_of(Outcome::out_of_memory), "out_of_memory");
}

TEST(Devices, AreSpelledAsTheDesignSays) {
  EXPECT_EQ(device_name({"", "cpu", 0}), "cpu");
  EXPECT_EQ(device_name({"", "cuda", 0}), "cuda:0");
  EXPECT_EQ(device_name({"node1", "cuda", 3}), "node1/cuda:3");
  for (const char* name : {"cpu", "cpu:1", "cuda:0", "cuda:7", "node1/cuda:3", "node1/cpu", "http://127.0.0.1:8000",
                           "https://triton.example/some/path", "grpc://[::1]:8001"}) {
    const auto device = device_from(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(device_name(*device), name);
  }
  for (const char* name : {"", ":", "cuda:", "cuda:x", "cuda:-1", "CUDA:0", "/cuda:0", "cuda:0:1", "cuda:99999999999", "cpu "}) {
    EXPECT_FALSE(device_from(name)) << name;
  }
}

// A URL is kept in Stores: nothing that may be a secret stands in it.
TEST(Devices, OfServersAreUrlsWithoutUserPasswordOrQuery) {
  EXPECT_EQ(device_from("HTTP://Host:8000"), (DeviceId{"Host:8000", "http", 0}));
  EXPECT_EQ(device_from("http://host:8000/"), (DeviceId{"host:8000", "http", 0}));
  EXPECT_TRUE(is_remote(*device_from("grpcs://host:8001")));
  for (const char* name : {"http://", "http:///", "http://:8000", "ftp://host", "http://user:password@host", "http://host?key=1",
                           "http://host#part", "http://ho st", "http://host\n", "://host"}) {
    EXPECT_FALSE(device_from(name)) << name;
  }
}

TEST(Placements, ComeBack) {
  const Placement two{1, {{"", "cuda", 0}, {"", "cuda", 1}}};
  EXPECT_EQ(placement_name(two), "cuda:0+cuda:1");
  EXPECT_EQ(placement_from("cuda:0+cuda:1"), two);
  const Placement processes{2, two.devices};
  EXPECT_EQ(placement_name(processes), "2p:cuda:0+cuda:1");
  EXPECT_EQ(placement_from(placement_name(processes)), processes);
  EXPECT_FALSE(placement_from("cuda:0+"));
  EXPECT_FALSE(placement_from("0p:cpu"));
}

TEST(PointJson, IdIsStable) {
  Point point;
  point.model = "resnet50";
  point.threads = 2;
  point.options = {{"b", "2"}, {"a", "1"}};
  EXPECT_EQ(point_to_json(point).dump(),
            R"({"backend":"native","batch":1,"dataset":"seeded","model":"resnet50","model_hash":"","options":{"a":"1","b":"2"},)"
            R"("placement":{"devices":["cpu"],"processes":1},"precision":"fp32","scenario":"batch","task":"infer","threads":2,)"
            R"("weights":"seeded"})");
  EXPECT_EQ(point_id(point), "80cc558a3a5907c8");
}

TEST(PointJson, AModelFileIsItsContentWhereverItLies) {
  Point here;
  here.model = "a.onnx";
  here.model_hash = "ab";
  Point there = here, changed = here;
  there.model = "/elsewhere/b.onnx";
  changed.model_hash = "cd";
  EXPECT_EQ(point_id(there), point_id(here));
  EXPECT_NE(point_id(changed), point_id(here));
  EXPECT_EQ(point_from_json(point_to_json(there)), there);
}

TEST(PointJson, EveryFieldMakesAnotherId) {
  Point base = example_record(1).point;
  base.model_hash.clear();
  const auto differs = [&](auto change) {
    Point other = base;
    change(other);
    EXPECT_NE(point_id(other), point_id(base));
    EXPECT_EQ(point_from_json(json::parse(point_to_json(other).dump())), other);
  };
  differs([](Point& p) { p.task = Task::train; });
  differs([](Point& p) { p.model += "x"; });
  differs([](Point& p) { p.model_hash = "00"; });
  differs([](Point& p) { p.weights = "imagenet"; });
  differs([](Point& p) { p.dataset = "pictures"; });
  differs([](Point& p) { p.backend = "null"; });
  differs([](Point& p) { p.placement.processes = 2; });
  differs([](Point& p) { p.placement.devices[0].index = 1; });
  differs([](Point& p) { p.placement.devices[0].host = "far"; });
  differs([](Point& p) { p.placement.devices.emplace_back(); });
  differs([](Point& p) { p.precision = Precision::int8; });
  differs([](Point& p) { p.batch += 1; });
  differs([](Point& p) { p.scenario = "single-stream"; });
  differs([](Point& p) { p.threads += 1; });
  differs([](Point& p) { p.options["zeta"] = ""; });
}

// Timings and series travel apart; everything else of `a` must be in `b`. Written as JSON text since Record has no ==.
void expect_same(const Record& a, const Record& b) {
  EXPECT_EQ(record_to_json(a).dump(), record_to_json(b).dump());
  EXPECT_EQ(a.point, b.point);
  EXPECT_EQ(a.environment, b.environment);
  EXPECT_EQ(a.facts, b.facts);
  EXPECT_EQ(a.stopping, b.stopping);
  EXPECT_EQ(a.check.has_value(), b.check.has_value());
  EXPECT_EQ(a.load_s, b.load_s);
  EXPECT_EQ(a.host_memory_peak_bytes, b.host_memory_peak_bytes);
  EXPECT_EQ(a.windows.size(), b.windows.size());
  EXPECT_EQ(a.estimates.size(), b.estimates.size());
  EXPECT_EQ(a.stderr_tail, b.stderr_tail);
}

TEST(RecordJson, ComesBackForManySeeds) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Record record = example_record(seed);
    std::mt19937_64 random(seed + 1000);
    record.outcome = static_cast<Outcome>(random() % 9);
    record.verdict = static_cast<Verdict>(random() % 4);
    if (random() % 2 == 0) record.check.reset();
    if (random() % 2 == 0) record.load_s.reset();
    if (random() % 2 == 0) record.stopping = {};
    if (random() % 2 == 0) record.stopping.auto_repeats = true, record.stopping.asked_of_all = 0.01;
    if (random() % 2 == 0) record.stopping.duration = static_cast<Nanoseconds>(random() >> 1);
    record.facts["x"] = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 400) - 200);
    record.facts["whole"] = static_cast<double>(random() % 100);  // must stay a double
    record.facts["least"] = std::numeric_limits<int64_t>::min();
    record.started_unix_ns = static_cast<int64_t>(random());
    record.stderr_tail = "line\n\t\"quoted\" \\ \x01 \xC3\xA9 \xF0\x9F\x98\x80";
    const Record back = record_from_json(json::parse(record_to_json(record).dump()));
    expect_same(record, back);
    EXPECT_TRUE(back.timings.empty());
  }
}

TEST(RecordJson, NumbersThatJsonLacksComeBack) {
  Record record = example_record(1);
  const double inf = std::numeric_limits<double>::infinity();
  record.estimates["a"] = {inf, -inf, std::nan(""), 3};
  const Record back = record_from_json(json::parse(record_to_json(record).dump()));
  EXPECT_EQ(back.estimates.at("a").value, inf);
  EXPECT_EQ(back.estimates.at("a").low, -inf);
  EXPECT_TRUE(std::isnan(back.estimates.at("a").high.value()));
  record.facts = {{"x", inf}};
  EXPECT_EQ(std::get<std::string>(record_from_json(record_to_json(record)).facts.at("x")), "not available: not a finite number");
}

TEST(RecordJson, BadBytesOfAnEngineDoNotStopTheRecord) {
  Record record = example_record(1);
  record.stderr_tail = "ok \xFF\xFE end \xC3";
  record.reason = "\xED\xA0\x80";  // a surrogate
  record.environment["k\x80"] = std::string("\xF4\x90\x80\x80");
  const std::string text = record_to_json(record).dump();  // throws where it is not UTF-8
  EXPECT_EQ(record_from_json(json::parse(text)).stderr_tail, "ok \xEF\xBF\xBD\xEF\xBF\xBD end \xEF\xBF\xBD");
}

TEST(RecordJson, DamageIsAnErrorOfInput) {
  const json good = record_to_json(example_record(7));
  const auto rejected = [](const json& bad) {
    try {
      record_from_json(bad);
      return false;
    } catch (const Error& error) {
      return error.kind() == ErrorKind::input;
    }
  };
  EXPECT_FALSE(rejected(good));
  EXPECT_TRUE(rejected(json::array()));
  EXPECT_TRUE(rejected(json(3)));
  // Optional fields may be absent; whatever is there must have its type.
  for (const auto& [key, value] : good.items()) {
    for (const json& wrong : {json(json::array({1})), json(json::object({{"x", json::array()}}))}) {
      json bad = good;
      bad[key] = wrong;
      const bool empty_like = key == "windows" && wrong.empty();
      EXPECT_TRUE(rejected(bad) || empty_like) << key << " " << wrong;
    }
  }
  for (const char* key : {"record_id", "point", "outcome", "stopping", "windows", "environment", "estimates", "repeat"}) {
    json bad = good;
    bad.erase(key);
    EXPECT_TRUE(rejected(bad)) << key;
  }
  json bad = good;
  bad["outcome"] = "splendid";
  EXPECT_TRUE(rejected(bad));
  bad = good;
  bad["repeat"] = 3'000'000'000;
  EXPECT_TRUE(rejected(bad));
  bad = good;
  bad["parameters"] = 10'000'000'000'000'000'000ULL;
  EXPECT_TRUE(rejected(bad));
  bad = good;
  bad["point"]["placement"]["devices"] = json::array({"gpu zero"});
  EXPECT_TRUE(rejected(bad));
}

TEST(Options, AreSortedAndJoined) {
  Point point;
  EXPECT_EQ(options_text(point), "");
  point.options = {{"b", "2"}, {"a", "1"}};
  EXPECT_EQ(options_text(point), "a=1;b=2");
}

}  // namespace
}  // namespace deepgap
