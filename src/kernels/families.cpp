#include "kernels/families.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <packed_families.h>

#include <map>
#include <optional>
#include <regex>

namespace deepgap {

struct Families::Rule {
  std::string family;
  std::optional<std::regex> kernel, op;
};

namespace {

std::optional<std::regex> expression(const toml::table& rule, const char* key, const std::string& path) {
  const auto text = rule[key].value<std::string>();
  if (!text) return std::nullopt;
  try {
    return std::regex(*text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw Error(ErrorKind::input, fmt::format("{}:{}: {}: invalid regular expression '{}': {}", path, rule[key].node()->source().begin.line,
                                              key, *text, error.what()));
  }
}

}  // namespace

Families::Families(std::string_view own, const std::string& path) {
  const auto add = [&](std::string_view text, const std::string& from) {
    toml::table file;
    try {
      file = toml::parse(text);
    } catch (const toml::parse_error& error) {
      throw Error(ErrorKind::input, fmt::format("{}:{}: {}", from, error.source().begin.line, error.description()));
    }
    const toml::array* rules = file["rule"].as_array();
    if (rules == nullptr) throw Error(ErrorKind::input, fmt::format("{}: there is no [[rule]] in it", from));
    for (const toml::node& node : *rules) {
      const toml::table* rule = node.as_table();
      const auto family = rule == nullptr ? std::nullopt : (*rule)["family"].value<std::string>();
      if (!family || family->empty())
        throw Error(ErrorKind::input, fmt::format("{}:{}: a rule without a family", from, node.source().begin.line));
      Rule made{*family, expression(*rule, "kernel", from), expression(*rule, "op", from)};
      if (!made.kernel && !made.op)
        throw Error(ErrorKind::input, fmt::format("{}:{}: a rule needs kernel or op", from, node.source().begin.line));
      rules_.push_back(std::move(made));
    }
  };
  if (!own.empty()) add(own, path);
  add(packed_families().front().second, "families.toml");
}
Families::~Families() = default;
Families::Families(Families&&) noexcept = default;
Families& Families::operator=(Families&&) noexcept = default;

std::string Families::of(const std::string& kernel, const std::string& op) const {
  for (const std::string& name : {short_kernel_name(kernel), kernel}) {
    for (const Rule& rule : rules_) {
      if (rule.kernel && !std::regex_search(name, *rule.kernel)) continue;
      if (rule.op && !std::regex_search(op, *rule.op)) continue;
      return rule.family;
    }
  }
  return "other";
}

void Families::assign(Trace& trace) const {
  std::map<std::pair<std::string, std::string>, std::string> known;
  for (Kernel& kernel : trace.kernels) {
    const std::string op = kernel.layer < 0 ? std::string() : trace.layers[static_cast<size_t>(kernel.layer)].op;
    auto [found, is_new] = known.try_emplace({kernel.name, op});
    if (is_new) found->second = of(kernel.name, op);
    kernel.family = found->second;
  }
}

std::string short_kernel_name(const std::string& name) {
  std::string text = name;
  if (text.starts_with("void ")) text = text.substr(5);
  constexpr std::string_view nameless = "(anonymous namespace)::";
  for (size_t at = text.find(nameless); at != std::string::npos; at = text.find(nameless)) text.erase(at, nameless.size());
  text = text.substr(0, text.find_first_of("<("));
  const size_t space = text.rfind("::");
  if (space != std::string::npos && space + 2 < text.size()) text = text.substr(space + 2);
  return text.empty() ? name : text;
}

}  // namespace deepgap
