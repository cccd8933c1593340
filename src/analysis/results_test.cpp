#include "analysis/results.h"

#include <gtest/gtest.h>

#include <string>

namespace deepgap {
namespace {

TEST(Results, facts_are_counted_and_bounded) {
  ResultsCollector collector;
  for (int i = 0; i < 100; ++i) {
    Record record;
    record.environment = {{"cpu.model", std::string("X")}};
    record.facts = {{"steal", static_cast<double>(i)}};
    record.started_unix_ns = 1000 - i;
    collector.add(record);
  }
  const Results results = collector.results();
  EXPECT_EQ(only_value(results.environment, "cpu.model"), "X");
  EXPECT_EQ(results.environment.at("cpu.model").counts.at("X"), 100);
  EXPECT_EQ(only_value(results.facts, "steal"), "");
  EXPECT_EQ(results.facts.at("steal").others, 88);
  EXPECT_EQ(results.facts.at("steal").most, 99);
  EXPECT_EQ(results.first_started_unix_ns, 901);
  EXPECT_EQ(results.last_started_unix_ns, 1000);
}

}  // namespace
}  // namespace deepgap
