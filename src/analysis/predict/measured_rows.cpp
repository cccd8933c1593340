#include "analysis/predict/measured_rows.h"

#include "base/text.h"

#include <packed_measured_rows.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string_view>

namespace deepgap {
namespace {

constexpr std::string_view cpus_file = "cpus", cpu_begin = "cpu_", train_begin = "train_";

// Files are named by kind and engine: native, train_libtorch_cuda, cpu_native.
bool is_of(MeasuredKind kind, const std::string& file) {
  const bool cpu = file.starts_with(cpu_begin), train = file.starts_with(train_begin);
  if (kind == MeasuredKind::cpu) return cpu;
  return kind == MeasuredKind::training ? train : !cpu && !train && file != cpus_file;
}
std::string engine_of(MeasuredKind kind, const std::string& file) {
  return file.substr(kind == MeasuredKind::cpu ? cpu_begin.size() : kind == MeasuredKind::training ? train_begin.size() : 0);
}

// Cells by the names of their columns; a column that a file has not is empty.
using Cells = std::map<std::string, std::string>;
std::vector<Cells> table_of(std::string_view text) {
  const auto lines = split(trim(std::string(text)), '\n');
  const auto names = split(lines.at(0), ',');
  std::vector<Cells> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto cells = split(lines[i], ',');
    Cells& row = rows.emplace_back();
    for (size_t column = 0; column < names.size(); ++column) row[names[column]] = cells.at(column);
  }
  return rows;
}

double number(const Cells& row, const char* column) {
  const auto found = row.find(column);
  return found == row.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
}
std::string text(const Cells& row, const char* column) {
  const auto found = row.find(column);
  return found == row.end() ? std::string() : found->second;
}

}  // namespace

std::vector<std::string> measured_engines(MeasuredKind kind) {
  std::vector<std::string> names;
  for (const auto& [name, rows] : packed_measured_rows())
    if (is_of(kind, name)) names.push_back(engine_of(kind, name));
  return names;
}

std::vector<MeasuredRow> measured_rows(MeasuredKind kind, const std::string& engine) {
  constexpr double ms = 1e-3, mib = 1048576;
  std::vector<MeasuredRow> rows;
  for (const auto& [name, table] : packed_measured_rows()) {
    if (!is_of(kind, name) || engine_of(kind, name) != engine) continue;
    for (const Cells& cells : table_of(table))
      rows.push_back(
          {.model = text(cells, "model"),
           .device = text(cells, "device"),
           .precision = text(cells, "precision"),
           .batch = number(cells, "batch"),
           .seconds = ms * number(cells, "ms"),
           .memory_bytes = mib * number(cells, "memory_mib"),
           .power_w = number(cells, "power_w"),
           .optimizer = text(cells, "optimizer"),
           .part_seconds = {ms * number(cells, "forward_ms"), ms * number(cells, "backward_ms"), ms * number(cells, "update_ms")},
           .activation_bytes = mib * number(cells, "activations_mib")});
  }
  return rows;
}

std::vector<DeviceFigures> packed_cpus() {
  std::vector<DeviceFigures> cpus;
  for (const auto& [name, table] : packed_measured_rows()) {
    if (name != cpus_file) continue;
    for (const Cells& cells : table_of(table)) {
      const std::string cpu = text(cells, "cpu"), ceiling = text(cells, "ceiling");
      if (cpus.empty() || cpus.back().name != cpu) cpus.push_back({.name = cpu, .architecture = "CPU"});
      DeviceFigures& figures = cpus.back();
      figures.bytes_per_s = number(cells, "per_s");  // main memory's is last
      if (std::isdigit(static_cast<unsigned char>(ceiling[0])) != 0)
        figures.bytes_per_s_by_footprint.emplace_back(number(cells, "ceiling"), number(cells, "per_s"));
      else
        figures.flop_per_s[ceiling] = number(cells, "per_s");
    }
  }
  return cpus;
}

}  // namespace deepgap
