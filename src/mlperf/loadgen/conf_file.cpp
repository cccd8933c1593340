#include "mlperf/loadgen/conf_file.h"

#include "base/text.h"
#include "mlperf/loadgen/conf_keys.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace deepgap {
namespace {

const std::vector<std::string> scenarios{"*", "SingleStream", "MultiStream", "Server", "Offline"};

[[noreturn]] void refuse(const std::string& source, int line, const std::string& what) {
  throw Error(ErrorKind::input, fmt::format("{}:{}: {}", source, line, what));
}

// The key has no dot in it and neither has a scenario; a model may have.
ConfEntry split_name(const std::string& name, const std::string& source, int line) {
  const size_t key = name.rfind('.');
  const size_t scenario = key == std::string::npos || key == 0 ? std::string::npos : name.rfind('.', key - 1);
  if (scenario == std::string::npos || scenario == 0 || key + 1 == name.size())
    refuse(source, line, fmt::format("'{}' is not model.Scenario.key, such as resnet50.Server.target_qps", name));
  ConfEntry entry{name.substr(0, scenario), name.substr(scenario + 1, key - scenario - 1), name.substr(key + 1), {}, line};
  if (std::find(scenarios.begin(), scenarios.end(), entry.scenario) == scenarios.end())
    refuse(source, line, unknown_name("scenario", entry.scenario, scenarios));
  const auto keys = conf_keys();
  if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) refuse(source, line, unknown_name("key", entry.key, keys));
  return entry;
}

std::vector<std::string> tokens_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> tokens;
  for (std::string token; stream >> token;) tokens.push_back(token);
  return tokens;
}

ConfEntry read_line(const std::vector<std::string>& tokens, const std::string& source, int line) {
  if (tokens.size() < 3 || tokens[1] != "=") refuse(source, line, "expected 'model.Scenario.key = value' with spaces around the '='");
  if (tokens.size() > 3 && tokens[3].starts_with('#'))
    refuse(source, line, "a comment needs a line of its own: LoadGen would take it for the value");
  if (tokens.size() > 3) refuse(source, line, fmt::format("'{}' follows the value; one value a line", tokens[3]));
  ConfEntry entry = split_name(tokens[0], source, line);
  entry.value = tokens[2];
  if (!parse_conf_integer(entry.value) && !parse_double(entry.value))
    refuse(source, line, fmt::format("'{}' is not a number", entry.value));
  return entry;
}

// 3: for both; 0: for all; -1: not for them.
int rank(const ConfEntry& entry, const std::string& model, const std::string& scenario) {
  const bool any_model = entry.model == "*", any_scenario = entry.scenario == "*";
  if ((!any_model && entry.model != model) || (!any_scenario && entry.scenario != scenario)) return -1;
  return (any_scenario ? 0 : 2) + (any_model ? 0 : 1);
}

}  // namespace

ConfFile ConfFile::parse(const std::string& text, const std::string& source) {
  ConfFile file;
  file.source_ = source;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const auto tokens = tokens_of(line);
    if (tokens.empty() || tokens[0].starts_with('#')) continue;
    ConfEntry entry = read_line(tokens, source, number);
    for (const ConfEntry& earlier : file.entries_) {
      if (earlier.model == entry.model && earlier.scenario == entry.scenario && earlier.key == entry.key)
        refuse(source, number, fmt::format("'{}' is set already in line {}; leave one of them", tokens[0], earlier.line));
    }
    file.entries_.push_back(std::move(entry));
  }
  return file;
}

std::map<std::string, ConfEntry> ConfFile::entries_for(const std::string& model, const std::string& scenario) const {
  std::map<std::string, ConfEntry> found;
  for (const ConfEntry& entry : entries_) {
    const int own = rank(entry, model, scenario);
    if (own < 0) continue;
    const auto known = found.find(entry.key);
    if (known == found.end() || rank(known->second, model, scenario) < own) found[entry.key] = entry;
  }
  return found;
}

}  // namespace deepgap
