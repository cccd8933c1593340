#include "base/option_table.h"

#include "base/test_error.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using testing::HasSubstr;

struct Part {
  double share = 0.25;
  Nanoseconds pause = 0;
};

struct Chosen {
  int number = 1;
  bool on = false;
  int streams = 0;
  std::optional<int64_t> limit;
  double factor = 0.5;
  Nanoseconds wait = 250'000'000;
  std::string text;
  Part part;
};

OptionTable<Chosen> make_table() {
  OptionTable<Part> part;
  part.percentage("share", "part of the whole", &Part::share);
  part.duration("pause", "time between", &Part::pause, 1'000'000);
  OptionTable<Chosen> made("e");
  made.choice("number", "number of things", &Chosen::number, {{"one", 1}, {"two", 2}});
  made.on_off("switch", "state", &Chosen::on).process_wide();
  made.count("streams", "streams", &Chosen::streams, 1, 1024).or_auto();
  made.count(
      "limit", "limit", [](auto& chosen) -> auto& { return chosen.limit; }, 0);
  made.number("factor", "factor", &Chosen::factor, 0, 10);
  made.duration("wait", "wait", &Chosen::wait, 0, 60'000'000'000);
  made.text("text", "text", &Chosen::text);
  made.part(&Chosen::part, part, "part.", "parts: ");
  return made;
}

const OptionTable<Chosen>& table() {
  static const OptionTable<Chosen> made = make_table();
  return made;
}

TEST(OptionTable, ListsWhatSettingsBeginWithAndReadsIt) {
  EngineOptions listed;
  for (const OptionInfo& option : table().infos()) listed[option.name] = option.default_value;
  EXPECT_EQ(listed, (EngineOptions{{"number", "one"},
                                   {"switch", "off"},
                                   {"streams", "auto"},
                                   {"limit", ""},
                                   {"factor", "0.5"},
                                   {"wait", "250ms"},
                                   {"text", ""},
                                   {"part.share", "25%"},
                                   {"part.pause", ""}}));
  std::erase_if(listed, [](const auto& option) { return option.second.empty(); });
  EXPECT_EQ(table().parse(listed).streams, 0);
  EXPECT_TRUE(table().find("switch")->process_wide);
  EXPECT_EQ(described(*table().find("part.share")), "Parts: part of the whole [default: 25%]");
}

TEST(OptionTable, ReadsEachKindAndWritesItBack) {
  const EngineOptions given{{"number", "two"}, {"switch", "on"}, {"streams", "7"},  {"limit", "3"},
                            {"factor", "2.5"}, {"wait", "1m"},   {"text", "words"}, {"part.share", "50%"}};
  const Chosen chosen = table().parse(given);
  EXPECT_EQ(chosen.number, 2);
  EXPECT_TRUE(chosen.on);
  EXPECT_EQ(chosen.streams, 7);
  EXPECT_EQ(chosen.limit, 3);
  EXPECT_EQ(chosen.factor, 2.5);
  EXPECT_EQ(chosen.wait, 60'000'000'000);
  EXPECT_EQ(chosen.text, "words");
  EXPECT_EQ(chosen.part.share, 0.5);
  EngineOptions written = given;
  written.erase("part.share");
  EXPECT_EQ(table().values(chosen), written);
  EXPECT_EQ(table().value(chosen, "wait"), "1m");
  EXPECT_EQ(table().value(chosen, "nothing"), std::nullopt);
}

TEST(OptionTable, WrongValuesAreNamed) {
  const auto complaint = [](const std::string& name, const std::string& value) {
    return error_of([&] { table().parse({{name, value}}); });
  };
  EXPECT_THAT(complaint("number", "tow"), HasSubstr("e: invalid value 'tow' for number: expected "));
  EXPECT_THAT(complaint("number", "tow"), HasSubstr("; did you mean 'two'?"));
  EXPECT_EQ(complaint("streams", "0"), "e: invalid value '0' for streams: expected auto or a whole number from 1 to 1024");
  EXPECT_EQ(complaint("factor", "11"), "e: invalid value '11' for factor: expected a number from 0 to 10");
  EXPECT_EQ(complaint("wait", "2h"), "e: invalid value '2h' for wait: expected a time from 0 to 1m, such as 250ms");
  EXPECT_THAT(complaint("part.share", "0.5"), HasSubstr("for part.share: expected a percentage from 0% to 100%"));
  EXPECT_THAT(complaint("part.pause", "0"), HasSubstr("expected a time of 1ms or more, such as 2ms"));
  EXPECT_EQ(complaint("swich", "on"), "unknown option of e 'swich', did you mean 'switch'?");
}

TEST(OptionTable, OthersOptionsArePassedOver) {
  Chosen chosen;
  table().set_known(chosen, {{"other", "1"}, {"text", "words"}});
  EXPECT_EQ(chosen.text, "words");
  EXPECT_EQ(table().first_in({{"other", "1"}}), nullptr);
  EXPECT_EQ(table().first_in({{"other", "1"}, {"text", "words"}})->name, "text");
  EXPECT_FALSE(table().set(chosen, "other", "1"));
}

}  // namespace
}  // namespace deepgap
