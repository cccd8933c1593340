#include "cli/command_line.h"

#include "base/byte_text.h"
#include "base/text.h"
#include "cli/flag_table.h"
#include "left_out.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string name_of(const std::vector<std::string>& arguments) {
  CommandLine line(arguments);
  const Command* command = line.parse(arguments);
  return command == nullptr ? "none" : command->info.name;
}

std::string mistake_in(const std::vector<std::string>& arguments) {
  try {
    name_of(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "none";
}

TEST(CommandLine, FindsTheSubcommand) {
  EXPECT_EQ(name_of({"run", "resnet50", "--batch", "1,4"}), "run");
  EXPECT_EQ(name_of({"doctor"}), "doctor");
  EXPECT_EQ(name_of({"run", "--fp16", "resnet50"}), "run") << "as another tool spells it";
}

TEST(CommandLine, OfOneSubcommandDeclaresThatOnesFlagsAlone) {
  const CommandLine line({"run"});
  for (const CLI::App* command : line.shown()) {
    const size_t own = command->get_options().size() - 2;  // every command has -h and --help
    EXPECT_EQ(own > 0, command->get_name() == "run") << command->get_name();
  }
  EXPECT_EQ(line.help("run"), CommandLine().help("run"));
  EXPECT_EQ(line.help(), CommandLine().help());
}

TEST(CommandLine, SaysWhatAMistakeIsAndWhatToWrite) {
  EXPECT_THAT(mistake_in({"rnu", "resnet50"}), HasSubstr("run"));
  EXPECT_THAT(mistake_in({"run", "resnet50", "--bacth", "1"}), HasSubstr("--batch"));
  EXPECT_NE(mistake_in({"run", "resnet50", "--batch"}), "none") << "a flag without its value";
}

TEST(CommandLine, SaysWhatTheBuildIsWithout) {
  for (const auto& [word, option] : left_out_words) {
    if (word.starts_with("-")) continue;
    EXPECT_EQ(mistake_in({word, "x"}), "this deepgap was built without '" + word + "': configure it with -D" + option + "=ON");
  }
  for (const auto& [word, option] : left_out_words) {
    if (!word.starts_with("--mlperf")) continue;
    EXPECT_THAT(mistake_in({"run", "resnet50", word, "x"}), HasSubstr("was built without '" + word)) << "a flag";
  }
}

TEST(CommandLine, FlagsThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(mistake_in({"run", "resnet50", "-q", "-v"}), "--quiet and --verbose contradict each other: leave one of them out");
  EXPECT_EQ(mistake_in({"rerun", "4f2a", "--progress", "json", "-q"}), "--progress json contradicts --quiet: leave one of them out");
  EXPECT_EQ(mistake_in({"run", "resnet50", "-n", "5", "--duration", "8s"}), "--iterations and --duration each end a run: give one of them");
  EXPECT_EQ(mistake_in({"run", "resnet50", "--duration", "2s", "--axis", "interval=500ms"}), "none") << "an option of scenario burst";
  EXPECT_THAT(mistake_in({"run", "resnet50", "--margin", "2%"}), HasSubstr("add --duel"));
  EXPECT_EQ(mistake_in({"run", "a.toml", "--margin", "2%"}), "none");
  EXPECT_EQ(mistake_in({"export", "a.db", "--telemetry", "--by", "point"}), "--telemetry applies to records: leave out --by point");
  EXPECT_EQ(mistake_in({"export", "a.db", "--timings", "-o", "a.db"}),
            "--timings writes the timed queries alone, as csv or json: leave out --format, --compact and --recompute");
  EXPECT_THAT(mistake_in({"export", "a.db", "b.db", "-o", "c.db"}), HasSubstr("from one store"));
  EXPECT_EQ(mistake_in({"export", "a.db", "--by", "point", "--baseline", "batch=1", "--format", "json"}), "none");
  EXPECT_EQ(mistake_in({"check", "a.db", "--nodes"}), "a store holds checks that were made before: leave out --nodes");
  EXPECT_EQ(mistake_in({"compare", "a.db", "b.db", "--profile", "--format", "md"}), "--profile prints text: leave it out with --format md");
  EXPECT_THAT(mistake_in({"cache", "list", "--clear"}), HasSubstr("contradict each other"));
  EXPECT_EQ(mistake_in({"note", "a.db", "words", "--json"}), "--json goes with the list: leave it out");
}

// A row about a flag that does not exist could never refuse anything.
TEST(CommandLine, EveryFlagOfTheTableOfConflictsExists) {
  CommandLine line;
  for (const ConflictRow& row : conflict_rows()) {
    for (const std::string& scope : split(row.scopes, '|')) {
      if (left_out_words.contains(scope)) continue;
      for (const std::string& name : split(std::string(row.features) + "|" + std::string(row.others), '|')) {
        if (!name.starts_with("--") || left_out_words.contains(name)) continue;
        const CLI::App* command = line.app().get_subcommand(scope == "study" ? "run" : scope);
        EXPECT_NE(command->get_option_no_throw(name.substr(0, name.find('='))), nullptr) << scope << ' ' << name;
      }
    }
  }
}

TEST(CommandLine, AnEmptyArgumentIsNoneThatWasLeftOut) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"tag", "a.db", "", "--remove", "--select", "batch=1"},
                                                {"tag", "a.db", ""},
                                                {"note", "a.db", "", "--remove"},
                                                {"tag", "a.db", "b", "--select", ""},
                                                {"rerun", ""},
                                                {"rerun", "4f2a", "--from", ""},
                                                {"run", ""},
                                                {"run", "resnet18", ""},
                                                {"run", "resnet18", "--model", ""},
                                                {"run", "resnet18", "--store", ""},
                                                {"run", "resnet18", "--study", ""},
                                                {"run", "resnet18", "--cache", ""},
                                                {"run", "resnet18", "--duel", ""},
                                                {"run", "resnet18", "--axis", ""},
                                                {"run", "resnet18", "--libtorch", ""},
                                                {"backends", "--libtorch", ""},
                                                {"check", "resnet18", "--libtorch", ""},
                                                {"devices", "--libtorch", ""},
                                                {"report", ""},
                                                {"report", "a.db", "--output", ""},
                                                {"merge", "a.db", ""},
                                                {"export", "a.db", "--outcome", ""}})
    EXPECT_THAT(mistake_in(words), testing::AllOf(HasSubstr("is empty"), HasSubstr("leave it out")))
        << words.front() << " " << words.back();
  EXPECT_THAT(mistake_in({"tag", "a.db", ""}), HasSubstr("NAME is empty"));
  EXPECT_THAT(mistake_in({"rerun", ""}), HasSubstr("RECORD is empty"));
  EXPECT_THAT(mistake_in({"run", "resnet18", "--store="}), HasSubstr("--store: its value, FILE, is missing"));
}

// The value of such a flag would be a word more.
TEST(CommandLine, NamesAnUnknownFlagBeforeItCountsWords) {
  EXPECT_THAT(mistake_in({"compare", "a.db", "b.db", "--fail-if-slow", "2%"}), HasSubstr("did you mean '--fail-if-slower'?"));
  EXPECT_THAT(mistake_in({"compare", "a.db", "b.db", "--frobnicate", "2%"}), HasSubstr("unknown flag '--frobnicate'"));
  EXPECT_THAT(mistake_in({"report", "a", "b", "c", "--otput", "d"}), HasSubstr("did you mean '--output'?"));
  EXPECT_THAT(mistake_in({"cache", "list", "--claer"}), HasSubstr("did you mean '--clear'?"));
  EXPECT_THAT(mistake_in({"report", "--otput=page.html"}), HasSubstr("did you mean '--output'?")) << "although the store is missing";
  EXPECT_THAT(mistake_in({"compare", "a.db", "b.db", "c.db"}), HasSubstr("is given 3 times: at most 2 are allowed"));
}

TEST(CommandLine, AMessageNamesTheFlagAsItWasGiven) {
  const auto named = [](const std::vector<std::string>& arguments, const std::string& message) {
    CommandLine line(arguments);
    line.parse(arguments);
    return line.with_flags(message);
  };
  const std::string message = "invalid value 'fp17' for precision: expected fp32";
  EXPECT_EQ(named({"check", "net", "-p", "fp17"}, message), "invalid value 'fp17' for --precision: expected fp32");
  EXPECT_EQ(named({"check", "net"}, message), message) << "it is not from a flag";
  EXPECT_EQ(named({"run", "net", "--slo", "x"}, "invalid value 'x' for --bound: expected y"), "invalid value 'x' for --slo: expected y");
  EXPECT_EQ(named({"run", "net", "--slo=x"}, "invalid value 'x' for bound: expected y"), "invalid value 'x' for --slo: expected y");
  EXPECT_EQ(named({"run", "net", "--max-batch", "0"}, "invalid value '0' for max_batch: expected y"),
            "invalid value '0' for --max-batch: expected y");
  EXPECT_EQ(named({"run", "s.toml", "-p", "x"}, "s.toml:3: invalid value 'y' for precision: expected z"),
            "s.toml:3: invalid value 'y' for precision: expected z");
}

TEST(CommandLine, FlagsFollowACommand) {
  for (const char* flag : {"-v", "--model", "--frobnicate"}) {
    EXPECT_THAT(mistake_in({flag, "resnet50"}), testing::AllOf(HasSubstr(flag), HasSubstr("deepgap --help")));
  }
  EXPECT_EQ(name_of({"-V"}), "none") << "the version";
}

TEST(CommandLine, AListMayBeAskedForByThatWord) {
  for (const char* command : {"backends", "devices", "models"}) EXPECT_EQ(name_of({command, "list"}), command);
  EXPECT_THAT(mistake_in({"doctor", "list"}), HasSubstr("unexpected argument"));
}

// Without a terminal, as here, help has the width of the usual one.
TEST(CommandLine, HelpIsAtMostEightyColumnsWide) {
  const CommandLine line;
  std::vector<std::string> names{""};
  for (const CLI::App* app : line.shown()) names.push_back(app->get_name());
  EXPECT_GT(names.size(), 10U);
  for (const std::string& name : names) {
    for (const bool complete : {false, true})
      for (const std::string& shown : split(line.help(name, complete), '\n'))
        EXPECT_LE(count_characters(shown), 80U) << name << ": " << shown;
  }
  EXPECT_THROW(line.help("rnu"), Error);
}

// `deepgap run resnet50      what it does` without what follows.
std::vector<std::string> words_of_example(const std::string& line) {
  const std::string command = trim(line);
  return split(command.substr(0, command.find("  ")), ' ');
}

TEST(CommandLine, EveryCommandHasExamplesThatItTakes) {
  const CommandLine line;
  for (const CLI::App* app : line.shown()) {
    const std::string examples = line.command(*app).info.examples;
    EXPECT_THAT(examples, HasSubstr("  deepgap " + app->get_name()));
    for (const std::string& example : split(examples, '\n')) {
      if (example.empty() || example.find_first_of("|>'\"") != std::string::npos) continue;  // the shell's
      const std::vector<std::string> words = words_of_example(example);
      EXPECT_EQ(name_of({words.begin() + 1, words.end()}), words[1]) << example;
    }
  }
}

TEST(CommandLine, CompletionOffersWhatACommandTakes) {
  const std::vector<CommandRow> rows = command_rows(CommandLine());
  const auto choices_of = [&](const std::string& command, const std::string& flag) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const CommandRow& one) { return one.name == command; });
    for (const FlagRow& one : row->flags) {
      if (flag.empty() ? one.names.empty() : std::find(one.names.begin(), one.names.end(), flag) != one.names.end()) return one.choices;
    }
    return std::vector<std::string>();
  };
  EXPECT_THAT(choices_of("cache", ""), ElementsAre("clear", "list")) << "and no network";
  EXPECT_THAT(choices_of("help", ""), testing::IsSupersetOf({"run", "report", "cache"}));
  EXPECT_THAT(choices_of("completion", ""), ElementsAre("bash", "zsh"));
  EXPECT_THAT(choices_of("run", "-p"), testing::IsSupersetOf({"fp8", "mixed"}));
  EXPECT_THAT(choices_of("run", ""), testing::Contains("resnet50"));
}

TEST(CommandLine, HelpGroupsCommandsWithRunFirst) {
  const std::string help = CommandLine().help();
  size_t last = 0;
  for (const char* part : {"Measure:\n  run ", "Explain:\n  profile ", "Compare:\n  compare ", "Decide:\n  recommend ", "Data:\n  report ",
                           "System:\n  backends "}) {
    const size_t at = help.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    EXPECT_GT(at, last) << part;
    last = at;
  }
}

TEST(CommandLine, ShortHelpIsOneScreenAndNamesTheRest) {
  const CommandLine line;
  for (const CLI::App* app : line.shown()) {
    const std::string brief = line.help(app->get_name(), false), complete = line.help(app->get_name());
    EXPECT_LE(std::count(brief.begin(), brief.end(), '\n'), 50) << brief;
    EXPECT_LE(brief.size(), complete.size() + 100);
    for (const std::string& name : line.command(*app).info.common_flags) EXPECT_THAT(brief, HasSubstr(name)) << "a common flag must exist";
  }
  EXPECT_THAT(line.help("run", false), HasSubstr("deepgap run --help shows all"));
  EXPECT_THAT(line.help("run", false), testing::Not(HasSubstr("--tenant")));
  EXPECT_THAT(line.help("run"), HasSubstr("--tenant"));
}

TEST(CommandLine, HelpShowsDefaultsAndBeginsWithTheActor) {
  const CommandLine line;
  EXPECT_THAT(line.help("run"), HasSubstr("[default: native]"));
  for (const CLI::App* app : line.shown()) {
    EXPECT_THAT(line.help(app->get_name()), testing::Not(HasSubstr("left out:"))) << "[default: ...] instead";
    for (const FlagRow& flag : command_row(line, *app).flags) {
      EXPECT_THAT(flag.value, testing::Not(testing::AnyOf(HasSubstr(" in ["), HasSubstr("NONNEG")))) << "a validator's own name";
      for (const char* fragment : {"Of ", "What ", "Whose ", "Who ", "Also ", "If ", "With ", "After "})
        EXPECT_FALSE(flag.describe.starts_with(fragment)) << flag.describe;
    }
  }
}

TEST(CommandLine, HelpHasEachGroupOnce) {
  const CommandLine line;
  for (const CLI::App* command : line.shown()) {
    std::vector<std::string> headings;
    for (const std::string& text : split(line.help(command->get_name()), '\n'))
      if (!text.empty() && text.front() != ' ' && text.back() == ':') headings.push_back(text);
    std::sort(headings.begin(), headings.end());
    EXPECT_EQ(std::adjacent_find(headings.begin(), headings.end()), headings.end()) << command->get_name();
  }
}

TEST(CommandLine, OneNameForOneThing) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"merge", "--store", "all.db", "a.db"},
                                                {"merge", "-o", "all.db", "a.db"},
                                                {"rerun", "4f2a", "--store", "a.db"},
                                                {"tune", "resnet18", "--store", "a.db"},
                                                {"run", "resnet18", "--slo", "p99=15ms"},
                                                {"tune", "resnet18", "--slo", "p99=15ms"},
                                                {"recommend", "a.db", "--slo", "p99=15ms"}})
    EXPECT_EQ(name_of(words), words[0]) << words[1];
}

}  // namespace
}  // namespace deepgap
