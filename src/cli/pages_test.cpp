// Every command that the pages show is one that this program takes: its name and its flags are parsed, nothing is run.
#include "base/file.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "left_out.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

// The commands in the ```sh blocks of a page, each on one line, without comments.
std::vector<std::string> commands_of(const std::string& page) {
  std::vector<std::string> commands;
  bool in_block = false, continued = false;
  for (const std::string& line : split(page, '\n')) {
    const std::string text = trim(line);
    if (text.starts_with("```")) {
      in_block = !in_block && text == "```sh";
      continued = false;
      continue;
    }
    if (!in_block) continue;
    if (continued)
      commands.back() += " " + text;
    else
      commands.push_back(text);
    continued = text.ends_with('\\');
    if (continued) commands.back().pop_back();
  }
  for (std::string& command : commands)
    if (const size_t comment = command.find(" #"); comment != std::string::npos) command.resize(comment);
  return commands;
}

// The words of a command as a shell makes them, as far as the pages need it: quotes hold words together, and a pipe or the like ends it.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  for (const char c : command + " ") {
    if (quote == 0 && std::string("|>;&").find(c) != std::string::npos) break;
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote == 0 ? c : 0;
    } else if (c == ' ' && quote == 0) {
      if (!word.empty()) words.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  return words;
}

bool is_left_out(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) { return left_out_words.contains(word); });
}

bool is_deepgap(const std::string& word) { return word == "deepgap" || word == "build/bin/deepgap"; }

TEST(Pages, CommandsAreFoundInShellBlocksAlone) {
  EXPECT_EQ(commands_of("deepgap a\n```sh\ndeepgap b   # why\ndeepgap c \\\n  --flag\n```\n```text\ndeepgap d\n```\n"),
            (std::vector<std::string>{"deepgap b  ", "deepgap c  --flag"}));
  EXPECT_EQ(words_of("deepgap compare --a 'b=c; d' \"e f\" > g"), (std::vector<std::string>{"deepgap", "compare", "--a", "b=c; d", "e f"}));
}

TEST(Pages, EveryCommandOfThePagesIsTaken) {
  std::vector<std::string> pages{"README.md", "CONTRIBUTING.md", "docs/index.md"};
  for (const char* folder : {"docs/tutorials", "docs/how-to", "docs/reference", "docs/explanation"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
  size_t taken = 0;
  for (const std::string& page : pages) {
    for (const std::string& command : commands_of(read_text(page))) {
      std::vector<std::string> words = words_of(command);
      if (words.empty() || !is_deepgap(words.front())) continue;
      words.erase(words.begin());
      if (is_left_out(words)) continue;
      try {
        CommandLine line(words);
        line.parse(words);
        ++taken;
      } catch (const Error& error) {
        ADD_FAILURE() << page << ": " << command << "\n  " << error.what();
      }
    }
  }
  EXPECT_GT(taken, 80U);
}

}  // namespace
}  // namespace deepgap
