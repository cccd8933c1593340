// Tests of what the flags of commands become, before anything else of them is looked at.
#include "base/test_error.h"
#include "cli/axis_flags.h"
#include "cli/run_flags.h"
#include "cli/selection_flags.h"
#include "record/example_record.h"

#include <gmock/gmock.h>

#include <array>
#include <chrono>

namespace deepgap {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// CLI11 takes arguments from the back.
void parse(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
}

constexpr std::array<AxisFlag, 3> table{{{"-m,--model", "Networks"}, {"-b,--batch"}, {"--rate", "Queries a second"}}};

std::vector<Axis> axes_of(const std::vector<std::string>& arguments, const std::vector<std::string>& words = {}) {
  CLI::App app;
  AxisFlags flags;
  flags.declare(app, "axes", table);
  parse(app, arguments);
  flags.add_models(words);
  return flags.axes();
}

TEST(AxisFlags, ListsRangesAndNamesBecomeAxesInTheOrderOfTheTable) {
  const auto axes = axes_of({"-b", "1..4*2", "--model", "resnet18,resnet50", "--axis", "native.path=fast,plain"});
  ASSERT_EQ(axes.size(), 3U);
  EXPECT_EQ(axes[0].name, "model");
  EXPECT_THAT(axes[0].values, ElementsAre("resnet18", "resnet50"));
  EXPECT_THAT(axes[1].values, ElementsAre("1", "2", "4"));
  EXPECT_THAT(axes[1].places, ElementsAre("--batch", "--batch", "--batch")) << "so that a mistake names the flag";
  EXPECT_EQ(axes[2].name, "native.path");
  EXPECT_THAT(axes[2].places, ElementsAre("--axis native.path", "--axis native.path"));
}

TEST(AxisFlags, AFlagThatIsGivenTwiceIsOneList) { EXPECT_THAT(axes_of({"-b", "1", "-b", "8"}).at(0).values, ElementsAre("1", "8")); }

TEST(AxisFlags, WordsAreModelsAndEachStandsOnce) {
  EXPECT_THAT(axes_of({}, {"resnet18"}).at(0).values, ElementsAre("resnet18"));
  const auto axes = axes_of({"-m", "resnet18"}, {"resnet50", "resnet18"});
  ASSERT_EQ(axes.size(), 1U);
  EXPECT_THAT(axes[0].values, ElementsAre("resnet18", "resnet50"));
}

TEST(AxisFlags, ShapesAreOneValue) {
  const auto axes = axes_of({"--shape", "a:1,3,8,8", "--shape", "b:1x4"});
  ASSERT_EQ(axes.size(), 1U);
  EXPECT_EQ(axes[0].name, "shape");
  EXPECT_THAT(axes[0].values, ElementsAre("a:1x3x8x8/b:1x4"));
}

TEST(AxisFlags, WhatIsWrongNamesTheFlag) {
  EXPECT_THAT(error_of([] { axes_of({"--axis", "batch"}); }), HasSubstr("invalid value 'batch' for --axis: expected NAME=LIST"));
  EXPECT_THAT(error_of([] { axes_of({"--axis", "=1"}); }), HasSubstr("expected NAME=LIST"));
  EXPECT_THAT(error_of([] { axes_of({"-b", "1..x"}); }), HasSubstr("--batch"));
  EXPECT_THAT(error_of([] { axes_of({"-b", ""}); }), HasSubstr("--batch")) << "an empty text is not no flag";
}

RunSettings settings_of(const std::vector<std::string>& arguments) {
  CLI::App app;
  RunFlags flags;
  flags.declare(app, "run");
  parse(app, arguments);
  return flags.settings();
}

TEST(RunFlags, BecomeSettings) {
  const RunSettings usual = settings_of({});
  EXPECT_EQ(usual.store_path, "deepgap.db");
  EXPECT_EQ(usual.timeout, 60s);
  EXPECT_FALSE(usual.resume);
  const RunSettings given = settings_of({"-o", "mine.db", "--resume", "--timeout", "2m", "-q", "--cache", "/c"});
  EXPECT_EQ(given.store_path, "mine.db");
  EXPECT_EQ(given.timeout, 120s);
  EXPECT_EQ(given.cache_dir, "/c");
  EXPECT_TRUE(given.resume);
  EXPECT_EQ(given.words, Words::few);
  EXPECT_EQ(settings_of({"--progress", "json"}).words, Words::json);
}

TEST(RunFlags, WhatIsWrongNamesTheFlag) {
  EXPECT_EQ(error_of([] {
              settings_of({"--timeout", "soon"});
            }),
            "invalid value 'soon' for --timeout: expected a time such as 500ms, 8s or 2m");
  EXPECT_EQ(error_of([] {
              settings_of({"--timeout", "10ms"});
            }),
            "invalid value '10ms' for --timeout: expected a time of at least 1s, such as 2m");
  EXPECT_EQ(error_of([] { settings_of({"--progress", "bar"}); }), "invalid value 'bar' for --progress: expected text or json");
}

TEST(Selection, HoldsWhereEveryKeyHasOneOfItsValues) {
  Record record = example_record(1);
  record.point.backend = "native";
  record.point.batch = 8;
  record.point.options["native.path"] = "fast";
  EXPECT_TRUE(Selection().holds(record));
  EXPECT_TRUE(Selection("backend=native|openvino; batch=8;native.path=fast").holds(record));
  EXPECT_FALSE(Selection("backend=native;batch=4").holds(record));
  EXPECT_FALSE(Selection("native.path=plain").holds(record));
  EXPECT_FALSE(Selection("tune=full").holds(record)) << "an option that it does not have";
  EXPECT_THAT(Selection("batch=8;backend=native").keys(), ElementsAre("backend", "batch"));
}

TEST(Selection, ATagIsOneOfSeveral) {
  Record record = example_record(1);
  EXPECT_FALSE(Selection("tag=good").holds(record));
  record.annotations.tags = {"good", "old"};
  EXPECT_TRUE(Selection("tag=good").holds(record));
  EXPECT_TRUE(Selection("tag=new|old").holds(record));
  EXPECT_FALSE(Selection("tag=new").holds(record));
}

std::string why_none(const Selection& selection, const std::vector<Record>& records) {
  return selection.why_none([&](const std::function<void(const Record&)>& each) {
    for (const Record& record : records) each(record);
  });
}

TEST(Selection, SaysWhichConditionLeavesNothing) {
  Record a = example_record(1), b = example_record(2);
  a.point.model = "resnet50";
  a.point.batch = 1;
  b.point.model = "bert";
  b.point.batch = 8;
  EXPECT_EQ(why_none(Selection("batch=8;model=resnet5"), {a, b}), "unknown model 'resnet5', did you mean 'resnet50'?");
  EXPECT_EQ(why_none(Selection("batch=7"), {a, b}), "unknown batch '7'; known: 1, 8");
  EXPECT_EQ(why_none(Selection("model=resnet50;batch=8"), {a, b}), "no record has model=resnet50 and batch=8 together");
  EXPECT_EQ(why_none(Selection("tag=good"), {a, b}), "no record has a tag, so none has tag=good");
  EXPECT_EQ(why_none(Selection("tag=good"), {}), "there are no records yet");
  Selection late;
  late.since(a.started_unix_ns * 2, "2060-01-01");
  EXPECT_THAT(why_none(late, {a, b}), HasSubstr("no record since 2060-01-01: they are from 2026-"));
}

Selection selection_of(const std::vector<std::string>& arguments) {
  CLI::App app;
  SelectionFlags flags;
  flags.declare(app);
  parse(app, arguments);
  return flags.selection();
}

TEST(SelectionFlags, HoldWhereAllDo) {
  Record record = example_record(1);
  record.point.model = "resnet50";
  record.point.batch = 8;
  record.started_unix_ns = 1'795'392'000'000'000'000;  // 2026-11-23
  EXPECT_TRUE(selection_of({}).empty());
  EXPECT_TRUE(selection_of({}).holds(record));
  EXPECT_TRUE(selection_of({"--model", "ResNet-50,bert_base", "-b", "1..16*2", "--outcome", "ok", "--verdict", "valid"}).holds(record));
  EXPECT_FALSE(selection_of({"--model", "resnet50", "-b", "4"}).holds(record));
  EXPECT_FALSE(selection_of({"--study", "another"}).holds(record));
  EXPECT_TRUE(selection_of({"--study", "another,example", "--select", "pin=on"}).holds(record));
  EXPECT_FALSE(selection_of({"--study", "example", "--select", "pin=off"}).holds(record));
  EXPECT_TRUE(selection_of({"--since", "2026-11-23", "--until", "2026-11-23"}).holds(record));
  EXPECT_FALSE(selection_of({"--since", "2026-11-23T00:01"}).holds(record));
  EXPECT_FALSE(selection_of({"--until", "2026-11-22"}).holds(record));
}

TEST(SelectionFlags, WhatIsWrongNamesTheFlag) {
  EXPECT_THAT(error_of([] { selection_of({"--outcome", "okay"}); }), HasSubstr("invalid value 'okay' for --outcome: expected ok, refused"));
  EXPECT_THAT(error_of([] { selection_of({"--verdict", "good"}); }), HasSubstr("invalid value 'good' for --verdict: expected none, valid"));
  EXPECT_THAT(error_of([] { selection_of({"--batch", "1..x"}); }), HasSubstr("--batch"));
  EXPECT_THAT(error_of([] {
                selection_of({"--study", "a,,b"});
              }),
              HasSubstr("invalid value 'a,,b' for --study: expected a list of values"));
  for (const char* time : {"yesterday", "2026-13-01", "2026-02-30", "2026-11-23T", "2026-11-23T24:00", "2026-11-23T1:5", "26-11-23",
                           "2026-11-23x10:00", "2300-01-01"})
    EXPECT_THAT(error_of([&] { selection_of({"--since", time}); }), HasSubstr("expected a time such as")) << time;
}

TEST(SelectionFlags, TimesAreUtc) {
  constexpr int64_t day = 1'795'392'000'000'000'000, second = 1'000'000'000;
  EXPECT_EQ(time_flag("--since", "2026-11-23", false), day);
  EXPECT_EQ(time_flag("--until", "2026-11-23", true), day + 86400 * second);
  EXPECT_EQ(time_flag("--since", "2026-11-23T14:05Z", false), day + (14 * 3600 + 5 * 60) * second);
  EXPECT_EQ(time_flag("--until", "2026-11-23 14:05:30", true), day + (14 * 3600 + 5 * 60 + 31) * second);
}

TEST(Selection, WhatIsNoSelectionIsSaid) {
  EXPECT_THAT(error_of([] { Selection("native"); }), HasSubstr("'native' is not KEY=VALUE"));
  EXPECT_THAT(error_of([] { Selection("=native"); }), HasSubstr("is not KEY=VALUE"));
  EXPECT_THAT(error_of([] { Selection("Back end=native"); }), HasSubstr("is neither a column of deepgap export nor an option"));
}

}  // namespace
}  // namespace deepgap
