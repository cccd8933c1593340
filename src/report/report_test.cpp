#include "report/report.h"

#include "base/file.h"
#include "record/duel_set.h"
#include "record/tenant_set.h"
#include "report/example_results.h"
#include "report/html.h"
#include "report/occurrences.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <regex>

namespace deepgap {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Results collect(const std::vector<Record>& records) {
  ResultsCollector collector;
  for (const Record& record : records) collector.add(record);
  return collector.results();
}

std::string html_of(const std::vector<Record>& records) { return html_report(collect(records), {"Quick start", "example.db"}); }

// Every opened element is closed in order; void elements and self-closed ones aside. Enough to catch what string building gets wrong.
std::string first_imbalance(const std::string& html) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^>\"]|\"[^\"]*\")*?)(/?)>");
  const size_t script = html.find("<script>");
  const std::string body = html.substr(html.find("<body>"), script - html.find("<body>")) + "</body>";
  for (std::sregex_iterator at(body.begin(), body.end(), tag), end; at != end; ++at) {
    const std::string name = (*at)[2];
    if ((*at)[4] == "/" || name == "br" || name == "meta" || name == "wbr") continue;
    if ((*at)[1] != "/") {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back()) + " at " + std::to_string(at->position());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " stays open";
}

TEST(Html, everything_is_escaped) {
  EXPECT_EQ(html_escaped("<a href='x'>&\"\x01"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\xEF\xBF\xBD");
  EXPECT_EQ(html_escaped("a\u202Eb\u009Bc\nd"), "a b c\nd") << "what turns the direction, and C1";
  EXPECT_EQ(markdown_escaped("a\u2066b"), "a b");
  EXPECT_EQ(markdown_escaped("a|b`c`\n<d>"), "a\\|b\\`c\\` &lt;d&gt;");
  EXPECT_EQ(css_escaped("EUR \"</style>\\"), "EUR \\22 \\3c /style\\3e \\5c ");
  EXPECT_EQ(shortened("abcdef", 4), "abc\u2026");
  EXPECT_EQ(shortened("\u00e9\u00e9\u00e9", 3), "\u00e9\u00e9\u00e9");
}

TEST(HtmlReport, is_whole_and_loads_nothing) {
  const std::string html = html_of(example_study());
  EXPECT_EQ(first_imbalance(html), "");
  EXPECT_THAT(html, HasSubstr("<!DOCTYPE html>"));
  for (const char* part : {"http://", "https://", "src=", "@import", "url(", "<link", "<img", "<iframe"})
    EXPECT_THAT(html, Not(HasSubstr(part)));
  for (const char* id : {"summary", "pictures", "points", "failures", "environment", "method"}) {
    EXPECT_EQ(occurrences(html, std::string("<section id=\"") + id + "\""), 1u) << id;
    EXPECT_THAT(html, HasSubstr(std::string("href=\"#") + id + "\""));
  }
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(html, HasSubstr("Quick start"));
  EXPECT_LT(html.size(), 400'000u);
}

// Three repeats can be compared; the first engine by name is what the other is held against, at every batch.
TEST(HtmlReport, draws_every_way_against_the_first_one) {
  const std::string html = html_of(example_study());
  EXPECT_EQ(occurrences(html, "<section id=\"comparisons\""), 1u);
  EXPECT_THAT(html, HasSubstr("href=\"#comparisons\""));
  EXPECT_EQ(occurrences(html, "<svg class=\"chart forest\""), 3u);
  EXPECT_THAT(html, HasSubstr("times the throughput of native"));
  std::vector<Record> once;
  for (const Record& record : example_study())
    if (record.repeat == 0) once.push_back(record);
  EXPECT_THAT(html_of(once), Not(HasSubstr("id=\"comparisons\""))) << "measured once: not comparable";
}

// Valid or not, a point under load shows its tail; percentiles that its queries are too few for are left out.
TEST(HtmlReport, draws_the_tail_of_latency_where_load_was_offered) {
  std::vector<Record> records = example_study();
  EXPECT_THAT(html_of(records), Not(HasSubstr("id=\"load\"")));
  Record record = records.front();
  record.record_id = std::string(32, 'e');
  record.point.scenario = "server";
  record.point.options = {{"rate", "200"}, {"bound", "p99=15ms"}};
  record.verdict = Verdict::invalid;
  record.reason = "p99 latency is 21 ms, above the SLO of 15 ms";
  record.estimates["offered_rate"] = {200, {}, {}, 2000};
  for (const auto& [name, ms] : std::map<std::string, double>{{"p50", 9}, {"p90", 14}, {"p99", 21}, {"p999", 40}, {"p9999", 40}})
    record.estimates["latency_" + name + "_ms"] = {ms, {}, {}, 2000};
  records.push_back(record);
  const std::string html = html_of(records);
  EXPECT_EQ(first_imbalance(html), "");
  EXPECT_EQ(occurrences(html, "<section id=\"load\""), 1u);
  EXPECT_THAT(html, HasSubstr("href=\"#load\""));
  EXPECT_THAT(html, HasSubstr("Share of queries that take longer"));
  EXPECT_THAT(html, HasSubstr("p999 latency 40"));
  EXPECT_THAT(html, Not(HasSubstr("p9999 latency")));
  EXPECT_EQ(occurrences(html, "<svg class=\"chart\""), 13u);
  EXPECT_THAT(html, HasSubstr("p99 latency is 21 ms, above the SLO of 15 ms"));
}

// Three rates under a bound, of which the last misses it, and a fourth point of another scenario.
TEST(HtmlReport, draws_latency_against_load_with_the_bound_and_the_knee) {
  std::vector<Record> records = example_study();
  Record record = records.front();
  record.point.scenario = "server";
  record.verdict = Verdict::valid;
  const auto add = [&](const std::string& rate, double ms) {
    record.record_id = std::string(30, 'e') + rate;
    record.point.options = {{"rate", rate}, {"bound", "p90=15ms"}};
    for (const auto& [name, share] : std::map<std::string, double>{{"p50", 0.5}, {"p90", 1}, {"p99", 2}})
      record.estimates["latency_" + name + "_ms"] = {ms * share, {}, {}, 2000};
    records.push_back(record);
  };
  add("20", 9);
  EXPECT_THAT(html_of(records), Not(HasSubstr("Latency against load"))) << "one rate is no curve";
  add("40", 12);
  record.verdict = Verdict::invalid;
  record.reason = "p90 latency is 31 ms, above the SLO of 15 ms";
  add("80", 31);
  const std::string html = html_of(records);
  EXPECT_EQ(first_imbalance(html), "");
  EXPECT_EQ(occurrences(html, "<b>Latency against load</b>"), 1u);
  EXPECT_THAT(html, HasSubstr("dotted: the SLO p90=15ms"));
  EXPECT_THAT(html, HasSubstr("knee 40.0"));
  EXPECT_THAT(html, HasSubstr("80.0 queries a second\np90 31.0 ms\np90 latency is 31 ms"));
  for (const char* curve : {"\np50 6.00 ms", "\np90 12.0 ms", "\np99 24.0 ms"}) EXPECT_THAT(html, HasSubstr(curve));
}

TEST(HtmlReport, draws_batches_and_the_queue_where_there_was_a_dispatcher) {
  std::vector<Record> records = example_study();
  EXPECT_THAT(html_of(records), Not(HasSubstr("id=\"dispatcher\"")));
  Record record = records.front();
  record.record_id = std::string(32, 'e');
  record.point.options = {{"max_batch", "8"}};
  record.facts["dispatcher.batches.1"] = int64_t{1};
  record.facts["dispatcher.batches.8"] = int64_t{3};
  record.facts["dispatcher.depth"] = std::string("0 4 12 2");
  record.facts["dispatcher.sizes"] = std::string("8 - 7.5 1");
  record.facts["dispatcher.depth_s"] = 2.0;
  records.push_back(record);
  const std::string html = html_of(records);
  EXPECT_EQ(first_imbalance(html), "");
  EXPECT_EQ(occurrences(html, "<section id=\"dispatcher\""), 1u);
  EXPECT_THAT(html, HasSubstr("href=\"#dispatcher\""));
  EXPECT_THAT(html, HasSubstr("3 batches of 8 samples"));
  EXPECT_THAT(html, HasSubstr("12 queries waited after 1"));
  EXPECT_THAT(html, HasSubstr("7.50 samples in a batch after 1"));
}

TEST(HtmlReport, says_where_the_time_of_end_to_end_queries_went) {
  std::vector<Record> records = example_study();
  EXPECT_THAT(html_of(records), Not(HasSubstr("id=\"stages\"")));
  Record record = records.front();
  record.record_id = std::string(32, 'e');
  record.point.options = {{"end_to_end", "serial"}};
  for (const char* stage : {"wait_decode", "read", "decode", "preprocess", "wait_infer", "copy_in", "compute", "copy_out"})
    record.estimates["stage_" + std::string(stage) + "_share"] = {std::string(stage) == "decode" ? 0.613 : 0.055, {}, {}, 100};
  records.push_back(record);
  const std::string html = html_of(records);
  EXPECT_EQ(first_imbalance(html), "");
  EXPECT_EQ(occurrences(html, "<section id=\"stages\""), 1u);
  EXPECT_THAT(html, HasSubstr("href=\"#stages\""));
  EXPECT_THAT(html, HasSubstr("<td class=\"num\">61 %</td>"));
}

TEST(HtmlReport, sets_tenants_beside_themselves_alone) {
  std::vector<Point> points(2);
  points[0].model = "resnet50";
  points[1].model = "a<b";
  std::vector<Record> records;
  const auto add = [&](const Point& point, double throughput) {
    Record record;
    record.point = point;
    record.verdict = Verdict::valid;
    record.estimates["throughput"] = {throughput, throughput * 0.99, throughput * 1.01, 100};
    records.push_back(record);
  };
  for (const Point& point : points) add(point, 100);
  EXPECT_THAT(html_of(records), Not(HasSubstr("<h2>Tenants</h2>")));
  join_tenants(points);
  for (const Point& point : points) add(point, 60);
  const std::string html = html_of(records);
  EXPECT_THAT(html, HasSubstr("<h2>Tenants</h2>"));
  EXPECT_THAT(html, HasSubstr("href=\"#tenants\""));
  EXPECT_THAT(html, HasSubstr("resnet50 beside a&lt;b, batch 1, CPUs shared"));
  EXPECT_THAT(html, HasSubstr("<td class=\"num\">0.60<small>"));
  EXPECT_THAT(html, HasSubstr("they keep 0.60 and 0.60 of their throughput alone"));
  EXPECT_THAT(html, Not(HasSubstr("not separable"))) << "who is beside others does not compete with who is alone";
  for (const PointSummary& point : collect(records).points) EXPECT_EQ(occurrences(html, "id=\"p-" + point.point_id + "\""), 1u);
  EXPECT_EQ(first_imbalance(html), "");
}

TEST(HtmlReport, draws_duels_as_a_forest) {
  std::vector<Point> points(3);
  const std::vector<std::string> engines{"native", "a<b", "openvino"};
  for (size_t i = 0; i < 3; ++i) {
    points[i].model = "resnet50";
    points[i].backend = engines[i];
  }
  join_duel(points, "backend", engines);
  std::vector<Record> records;
  for (const Point& point : points) {
    Record record;
    record.point = point;
    record.verdict = Verdict::valid;
    record.stopping.interval = 0.02;
    record.estimates["throughput"] = {100, 99, 101, 100};
    records.push_back(record);
  }
  records[1].estimates["duel_ratio"] = {1.07, 1.05, 1.09, 200};
  records[2].verdict = Verdict::unstable;
  records[2].reason =
      "no significant difference in throughput from native, 1.01x (0.97 to 1.06); its budget is spent; needs about 3 minutes more";
  records[2].estimates["duel_ratio"] = {1.01, 0.97, 1.06, 200};
  const std::string html = html_of(records);
  EXPECT_THAT(html, HasSubstr("<h2>Interleaved comparisons</h2>"));
  EXPECT_THAT(html, HasSubstr("a&lt;b: throughput 1.07x (1.05 to 1.09) that of native"));
  EXPECT_THAT(html, HasSubstr("openvino: no significant difference"));
  EXPECT_EQ(occurrences(html, "class=\"mark hollow\" transform"), 1u);
  EXPECT_THAT(html, Not(HasSubstr("is the fastest"))) << "contenders are in no ranking of what was measured alone";
  EXPECT_EQ(first_imbalance(html), "");
}

TEST(HtmlReport, one_point_on_two_devices_has_two_rows_and_says_which) {
  std::vector<Record> records;
  for (const auto& [name, throughput] : {std::pair("NVIDIA H100", 100.0), std::pair("NVIDIA H200", 140.0)}) {
    Record record = example_study().front();
    record.point.placement.devices = {{"", "cuda", 0}};
    record.environment["gpu.cuda0.name"] = name;
    record.estimates["throughput"] = {throughput, throughput - 1, throughput + 1, 100};
    records.push_back(record);
  }
  const std::string html = html_of(records);
  const std::string id = collect(records).points.at(0).point_id;
  EXPECT_EQ(occurrences(html, "id=\"p-" + id + "\""), 1u);
  EXPECT_EQ(occurrences(html, "id=\"p-" + id + "-2\""), 1u);
  EXPECT_THAT(html, HasSubstr("on NVIDIA H100 and NVIDIA H200, measured"));
  EXPECT_THAT(html, HasSubstr(">NVIDIA H200</td>"));
  EXPECT_THAT(html, HasSubstr(">H200</a>; <a")) << "points are named, not by their hash";
  EXPECT_THAT(html, HasSubstr("NVIDIA H200 over NVIDIA H100</h3>"));
  EXPECT_THAT(html_of({records[1]}), HasSubstr("<h3>efficientnet_lite0 on NVIDIA H200</h3>")) << "one card is named above its pictures";
  EXPECT_EQ(first_imbalance(html), "");
}

TEST(HtmlReport, a_skipped_batch_leaves_no_tick_in_the_pictures_of_others) {
  std::vector<Record> records = example_study();
  Record skipped = records.front();
  skipped.point.batch = 4096;
  skipped.outcome = Outcome::skipped;
  skipped.estimates.clear();
  records.push_back(skipped);
  EXPECT_THAT(html_of(records), Not(HasSubstr(">4096</text>")));
}

TEST(HtmlReport, candidates_of_a_peak_search_are_drawn_against_load_alone) {
  std::vector<Record> records;
  for (const int rate : {100, 200, 400}) {
    Record record = example_study().front();
    record.point.scenario = "server";
    record.point.options = {{"bound", "p99=15ms"}, {"peak", "search"}, {"rate", std::to_string(rate)}};
    records.push_back(record);
  }
  const std::string html = html_of(records);
  EXPECT_THAT(html, HasSubstr("Latency against load"));
  EXPECT_THAT(html, Not(HasSubstr("Throughput against batch")));
  EXPECT_THAT(html, HasSubstr("options bound=p99=15ms;peak=search")) << "what all share stands above the table";
}

TEST(HtmlReport, a_narrow_page_has_the_headings_in_every_row) {
  const std::string html = html_of(example_study());
  EXPECT_THAT(html, HasSubstr("td:nth-child(1){--t:\"model\"}"));
  EXPECT_THAT(html, HasSubstr("{--t:\"throughput, items/s\"}"));
  EXPECT_THAT(html, HasSubstr("class=\"num main\""));
  EXPECT_THAT(html, HasSubstr("content:var(--t)"));
}

TEST(HtmlReport, shows_tags_and_notes_where_there_are_any) {
  std::vector<Record> records = example_study();
  EXPECT_THAT(html_of(records), Not(HasSubstr(">tags<")));
  records.front().annotations = {{"good", "old"}, {"fan <broken>"}};
  EXPECT_THAT(html_of(records), AllOf(HasSubstr(">tags<"), HasSubstr("good and old<small>fan &lt;broken&gt;</small>")));
  EXPECT_THAT(markdown_report(collect(records), {}), AllOf(HasSubstr("| tags |"), HasSubstr("| good and old (fan")));
}

TEST(HtmlReport, says_what_to_take) {
  const Results results = collect(example_study());
  const std::string html = html_of(example_study());
  EXPECT_THAT(html, HasSubstr("<section id=\"take\">"));
  EXPECT_THAT(html, HasSubstr("href=\"#take\""));
  EXPECT_THAT(html, HasSubstr("Throughput against latency"));
  EXPECT_THAT(html, Not(HasSubstr("least cost")));  // nobody gave prices
  const std::string text = markdown_report(results, {});
  EXPECT_THAT(text, HasSubstr("## Recommendations"));
  EXPECT_THAT(text, HasSubstr("| highest throughput | native"));
}

TEST(HtmlReport, draws_the_front_of_any_two_metrics_within_limits) {
  const Results results = collect(example_study());
  ReportOptions options;
  EXPECT_THAT(html_report(results, options), Not(HasSubstr("Pareto fronts")));
  options.fronts = parse_front_order({"latency_p50_ms,throughput"}, "");
  EXPECT_THAT(html_report(results, options), AllOf(HasSubstr("<section id=\"fronts\">"), HasSubstr("latency_p50_ms (ms)")));
  EXPECT_THAT(markdown_report(results, options), HasSubstr("| Pareto front | latency_p50_ms | throughput |"));
  options.fronts = parse_front_order({"latency_p50_ms,throughput"}, "throughput>=1000000000");
  EXPECT_THAT(html_report(results, options),
              HasSubstr("No point has both latency_p50_ms and throughput, of points with throughput&gt;=1000000000"));
}

TEST(HtmlReport, has_a_row_for_every_point_and_three_charts_for_every_model) {
  const std::string html = html_of(example_study());
  const Results results = collect(example_study());
  for (const PointSummary& point : results.points) EXPECT_EQ(occurrences(html, "id=\"p-" + point.point_id + "\""), 1u);
  EXPECT_EQ(occurrences(html, "<svg class=\"chart\""), 12u);  // and a front each
  EXPECT_THAT(html, HasSubstr("Throughput (items/s)"));
  EXPECT_THAT(html, HasSubstr("class=\"bar\""));
}

TEST(HtmlReport, every_link_has_its_target) {
  const std::string html = html_of(example_study());
  const std::regex link("href=\"#([^\"]+)\"");
  for (std::sregex_iterator at(html.begin(), html.end(), link), end; at != end; ++at) {
    EXPECT_THAT(html, HasSubstr("id=\"" + (*at)[1].str() + "\""));
  }
}

TEST(HtmlReport, failures_are_explained) {
  const std::string html = html_of(example_study());
  EXPECT_THAT(html, HasSubstr("killed by signal 9"));
  EXPECT_THAT(html, HasSubstr("&#39;Einsum&#39;"));
  EXPECT_THAT(html, HasSubstr("1 point unstable"));
}

TEST(HtmlReport, a_sweep_of_threads_has_a_chart_and_a_finding) {
  std::vector<Record> records;
  for (const int threads : {1, 2, 4}) {
    for (Record record : example_study()) {
      if (record.point.model != "resnet18") continue;
      record.point.threads = threads;
      records.push_back(record);
    }
  }
  const std::string html = html_of(records);
  EXPECT_THAT(html, HasSubstr("Throughput against threads"));
  EXPECT_EQ(occurrences(html, "<svg class=\"chart\""), 5u);
  EXPECT_THAT(html, HasSubstr("resnet18, native: fastest with"));
  EXPECT_EQ(first_imbalance(html), "");
}

TEST(HtmlReport, names_that_are_markup_are_harmless) {
  auto records = example_study();
  for (Record& record : records) {
    record.point.model = "<script>alert(1)</script>";
    record.point.backend = "\"onload=\"x";
    record.reason = "</td><img src=x onerror=alert(1)>";
    record.environment["cpu.model"] = "</style><script>alert(2)</script>";
    record.dataset_description = "<b>";
    record.backend_version = "<i>";
  }
  const std::string html = html_report(collect(records), {"</title><script>alert(3)</script>", "<script>"});
  EXPECT_EQ(occurrences(html, "<script>"), 1u) << "only our own";
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("=\"\"onload")));
  EXPECT_EQ(first_imbalance(html), "");
  const std::string markdown = markdown_report(collect(records), {"t", "s"});
  EXPECT_THAT(markdown, Not(HasSubstr("<script>")));
}

// A Store of published records brings the currency along.
TEST(HtmlReport, a_currency_that_is_markup_is_harmless) {
  std::vector<Record> records = example_study();
  for (Record& record : records)
    if (record.outcome == Outcome::ok) record.estimates["cost_per_1000_items"] = {1, {}, {}, 1};
  Results results = collect(records);
  results.currency = "\"}</style><script>alert(1)</script>";
  const std::string html = html_report(results, {"Quick start", "example.db"});
  EXPECT_THAT(html, HasSubstr("cost per 1000 items"));
  EXPECT_EQ(occurrences(html, "<script>"), 1u) << "the report's own";
}

TEST(HtmlReport, an_empty_store_says_so) {
  const std::string html = html_of({});
  EXPECT_THAT(html, HasSubstr("nothing was measured"));
  EXPECT_THAT(html, HasSubstr("There is nothing to draw"));
  EXPECT_EQ(first_imbalance(html), "");
}

TEST(HtmlReport, a_store_of_failures_only_says_why) {
  auto records = example_study();
  for (Record& record : records) {
    record.outcome = Outcome::timed_out;
    record.verdict = Verdict::none;
    record.reason = "no heartbeat for 60 s";
    record.estimates.clear();
    record.check.reset();
  }
  const std::string html = html_of(records);
  EXPECT_THAT(html, HasSubstr("No point has a usable value"));
  EXPECT_THAT(html, HasSubstr("no heartbeat for 60 s"));
  EXPECT_LT(html.find("timed out"), html.find("Measured in a")) << "failures go before what is said of the machine";
  EXPECT_EQ(first_imbalance(html), "");
}

TEST(HtmlReport, one_point_without_an_interval_is_drawn) {
  Record record = example_study()[0];
  record.estimates["throughput"] = {100, {}, {}, 1};
  const std::string html = html_of({record});
  EXPECT_EQ(occurrences(html, "<svg class=\"chart\""), 3u);
  EXPECT_EQ(first_imbalance(html), "");
}

TEST(HtmlReport, large_stores_stay_small_and_say_what_is_left_out) {
  ResultsCollector collector;
  for (const Record& record : example_flood(20'000, 8'000)) collector.add(record);
  const auto begin = std::chrono::steady_clock::now();
  const std::string html = html_report(collector.results(), {"Flood", ""});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("20,000 records of 8,000 points: %.2f s, %.2f MB\n", seconds.count(), static_cast<double>(html.size()) / 1e6);
  EXPECT_LT(html.size(), 10'000'000u);
  EXPECT_THAT(html, HasSubstr("The first 2000 of 8000 points are shown"));
  EXPECT_THAT(html, HasSubstr("The 8 lines with the highest throughput of 1000"));
}

TEST(HtmlReport, says_how_much_of_the_load_is_not_drawn) {
  std::vector<Record> records;
  for (int model = 0; model < 26; ++model) {
    Record record = example_study().front();
    record.point.model = "model" + std::to_string(model);
    record.point.scenario = "server";
    record.point.options["bound"] = "p99=15ms";
    record.estimates["latency_p50_ms"] = record.estimates["latency_p99_ms"] = {12, {}, {}, 1000};
    records.push_back(record);
  }
  const std::string html = html_of(records);
  const std::string load = html.substr(html.find("<section id=\"load\""));
  EXPECT_THAT(load.substr(0, load.find("</section>")), HasSubstr("2 more workloads are not drawn"));
}

TEST(MarkdownReport, has_the_same_sections) {
  const std::string text = markdown_report(collect(example_study()), {"Quick start", "example.db"});
  for (const char* part : {"# Quick start", "## Summary", "## Points", "| model | backend | batch |", "## Failures and refusals",
                           "## Environment", "- `throughput`:"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(markdown_report(collect({}), {}), HasSubstr("nothing was measured"));
}

// DEEPGAP_REPORT_EXAMPLE=FILE writes the made-up report, to look at it.
TEST(HtmlReport, can_be_looked_at) {
  const char* path = std::getenv("DEEPGAP_REPORT_EXAMPLE");
  const std::string html = html_of(example_study());
  if (path != nullptr) write_file_atomic(path, html);
  EXPECT_FALSE(html.empty());
}

}  // namespace
}  // namespace deepgap
