#include "telemetry/system_file.h"

#include "base/file.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

constexpr size_t largest_file = size_t{16} << 20;

}  // namespace

Fact not_available(std::string_view reason) { return fmt::format("not available: {}", reason); }

Fact Reading::fact() const { return text ? Fact(trim(*text)) : not_available(reason); }

std::string SystemRoot::resolve(const std::string& path) const { return is_real() ? path : root_ + path; }

Reading SystemRoot::read(const std::string& path) const {
  try {
    return {read_text(resolve(path), largest_file), ""};
  } catch (const Error& failure) {
    std::error_code error;
    return {std::nullopt, std::filesystem::exists(resolve(path), error) ? failure.what() : "no " + path};
  }
}

std::string SystemRoot::text(const std::string& path) const { return trim(read(path).text.value_or("")); }

std::optional<int64_t> SystemRoot::integer(const std::string& path) const { return parse_int(text(path)); }

std::vector<std::string> SystemRoot::list(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(resolve(folder), error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string value_of_key(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || (first == 0 && line[0] != ':')) continue;
    if (line[first] != ':' && line.find(':') != std::string_view::npos) continue;  // "model name: x" is not the key "model"
    return trim(line.substr(line[first] == ':' ? first + 1 : first));
  }
  return {};
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  constexpr int64_t most = 65'535;
  std::vector<int> cpus;
  for (const std::string& part : split(trim(text), ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_int(std::string_view(part).substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_int(std::string_view(part).substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > most) return std::nullopt;
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

}  // namespace deepgap
