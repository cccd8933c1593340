// `deepgap backends`: which engines are here, with versions, devices and options, and why the others are not.
#include "base/console.h"
#include "base/dump_json.h"
#include "base/text.h"
#include "cli/backend_rows.h"
#include "cli/command.h"
#include "cli/libtorch_folder.h"
#include "plan/usual_names.h"
#include "run/progress.h"
#include "run/text_table.h"
#include "worker/plugin.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

std::string option_text(const json& option) {
  const auto fallback = option["default"].get<std::string>();
  return fmt::format("{}{}", option["name"].get<std::string>(), fallback.empty() ? "" : "=" + fallback);
}

// Returns the values of the option, if the line of help does not say them in the same words.
std::string values_text(const json& option) {
  const auto values = option["values"].get<std::string>(), help = option["describe"].get<std::string>();
  if (values.empty()) return {};
  const std::vector<std::string> words = split(values, ' ');
  const bool said = option["kind"] == "choice" && std::all_of(words.begin(), words.end(), [&](const std::string& word) {
                      return help.find(word.substr(0, word.find(','))) != std::string::npos || word == "or";
                    });
  return said ? "" : fmt::format(" [{}]", values);
}

// Prints the text in a column of its own, from the next line on where the heading is too long for the column.
void print_entry(const std::string& heading, const std::string& text, size_t column) {
  constexpr size_t narrowest = 60;
  const size_t terminal = terminal_columns(stdout);
  const std::string margin(column, ' ');
  const std::vector<std::string> lines =
      terminal == 0 ? std::vector<std::string>{text} : wrapped(text, std::max(terminal, narrowest) - column);
  const bool fits = heading.size() + 2 <= column;
  print_text(heading + (fits ? margin.substr(heading.size()) : "\n" + margin) + join(lines, "\n" + margin) + "\n");
}

void print_available(const json& row) {
  constexpr size_t column = 12;
  const auto form = row["form"].get<std::string>();
  const std::string reads = form == "remote" ? "models on a server, --device http://host:port or grpc://host:port" : "reads " + form;
  print_wrapped(fmt::format("{} {} ({})\n", row["name"].get<std::string>(), row["version"].get<std::string>(), reads));
  for (const json& device : row["devices"]) {
    const json& memory = device["memory_bytes"];
    print_entry("  " + device["device"].get<std::string>(),
                device["name"].get<std::string>() + (memory.is_null() ? "" : ", " + format_bytes(memory.get<double>())), column);
    for (const auto& [key, value] : device["properties"].items())
      print_entry("", fmt::format("{}: {}", key, value.get<std::string>()), column);
  }
}

void print_options(const json& row) {
  if (row["options"].empty()) return;
  fmt::print("  options\n");
  for (const json& option : row["options"])
    print_entry("    " + option_text(option), option["describe"].get<std::string>() + values_text(option), 26);
}

class BackendsCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("backend", names_, "List these engines, with their options [default: all, without]")->type_name("NAME");
    app.add_flag("--json", json_, "Print JSON");
    declare_libtorch_folder(app);
  }
  int run() override {
    const json rows = chosen(backend_rows());
    if (json_) {
      fmt::print("{}", dump_indented(rows));
      return exit_ok;
    }
    bool all_here = true;
    for (const json& row : rows) {
      if (row["available"].get<bool>()) print_available(row);
      if (row["available"].get<bool>() && !names_.empty()) print_options(row);
      all_here = all_here && row["available"].get<bool>();
    }
    if (!all_here) fmt::print("not available\n");
    for (const json& row : rows) {
      if (!row["available"].get<bool>()) print_entry("  " + row["name"].get<std::string>(), row["reason"].get<std::string>(), 17);
    }
    if (names_.empty()) fmt::print("options of an engine: deepgap backends NAME\n");
    return exit_ok;
  }

 private:
  json chosen(const json& rows) const {
    if (names_.empty()) return rows;
    json found = json::array();
    std::vector<std::string> known;
    for (const json& row : rows) known.push_back(row["name"].get<std::string>());
    for (const std::string& name : names_) {
      const auto at = std::find(known.begin(), known.end(), usual_name("backend", name));
      if (at == known.end()) throw Error(ErrorKind::usage, unknown_name("backend", name, known));
      found.push_back(rows[static_cast<size_t>(at - known.begin())]);
    }
    return found;
  }

  std::vector<std::string> names_;
  bool json_ = false;
};

const bool registered = add_command<BackendsCommand>({"backends",
                                                      {CommandGroup::system, 1},
                                                      "List engines with versions and devices, and why others are missing",
                                                      "  deepgap backends\n"
                                                      "  deepgap backends native      one engine and its options\n"});

}  // namespace
}  // namespace deepgap
