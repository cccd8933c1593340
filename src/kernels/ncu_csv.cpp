#include "kernels/ncu_csv.h"

#include "base/csv_reader.h"
#include "base/text.h"
#include "kernels/families.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace deepgap {
namespace {

[[noreturn]] void fail(const std::string& path, int line, const std::string& cause) {
  throw Error(ErrorKind::input, fmt::format("{}:{}: {}", path, line, cause));
}

// The next row that may be of the table. Lines such as "==PROF== ..." and what the program printed are passed over.
bool next_row(CsvReader& reader, CsvRow& row) {
  while (reader.next(row))
    if (row.cells.size() > 1 && !row.cells.front().starts_with("==")) return true;
  return false;
}

size_t column(const std::vector<std::string>& header, const std::string& name) {
  return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

struct Columns {
  explicit Columns(const std::vector<std::string>& header)
      : kernel(column(header, "Kernel Name")),
        id(column(header, "ID")),
        grid(column(header, "Grid Size")),
        block(column(header, "Block Size")),
        stream(column(header, "Stream")),
        device(column(header, "Device")),
        metric(column(header, "Metric Name")),
        unit(column(header, "Metric Unit")),
        value(column(header, "Metric Value")),
        count(header.size()) {}
  bool has(size_t which) const { return which < count; }
  bool is_long() const { return has(metric) && has(value); }
  size_t kernel, id, grid, block, stream, device, metric, unit, value, count;
};

// "(132, 1, 1)"
std::array<int, 3> dimensions(const std::string& text) {
  std::array<int, 3> result{0, 0, 0};
  size_t which = 0;
  for (const std::string& part : split(text, ',')) {
    std::string digits;
    for (const char c : part)
      if (c >= '0' && c <= '9') digits += c;
    if (which < 3 && !digits.empty()) std::from_chars(digits.data(), digits.data() + digits.size(), result.at(which++));
  }
  return result;
}

int64_t whole(const std::string& text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool is_missing(const std::string& text) {
  const std::string word = trim(text);
  return word.empty() || word == "n/a" || word == "N/A" || word == "nan" || word.starts_with("(!)");
}

// ncu writes scales before the unit's name: Kbyte, Mbyte/second, Ginst.
struct Scale {
  std::string_view text;
  double factor;
};

std::optional<double> known_unit(std::string_view unit) {
  constexpr std::array<Scale, 22> units{{{"byte", 1},       {"second", 1},     {"s", 1},          {"msecond", 1e-3},      {"ms", 1e-3},
                                         {"usecond", 1e-6}, {"us", 1e-6},      {"nsecond", 1e-9}, {"ns", 1e-9},           {"%", 0.01},
                                         {"hz", 1},         {"inst", 1},       {"cycle", 1},      {"block", 1},           {"warp", 1},
                                         {"thread", 1},     {"sector", 1},     {"request", 1},    {"register/thread", 1}, {"", 1},
                                         {"byte/block", 1}, {"byte/thread", 1}}};
  for (const Scale& known : units)
    if (unit == known.text) return known.factor;
  return std::nullopt;
}

double factor_of(const std::string& unit) {
  std::string text;
  for (const char c : unit) text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const size_t slash = text.find('/');
  const std::string over = slash == std::string::npos ? std::string() : text.substr(slash + 1);
  const std::string head = slash == std::string::npos ? text : text.substr(0, slash);
  double under = 1;
  if (over == "nsecond" || over == "ns") under = 1e9;
  if (over == "usecond" || over == "us") under = 1e6;
  if (over == "msecond" || over == "ms") under = 1e3;
  if (const auto factor = known_unit(head)) return *factor * under;
  constexpr std::array<Scale, 4> scales{{{"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"t", 1e12}}};
  for (const Scale& scale : scales)
    if (head.starts_with(scale.text))
      if (const auto factor = known_unit(head.substr(1))) return scale.factor * *factor * under;
  return under;
}

KernelCounters kernel_of(const CsvRow& line, const Columns& columns) {
  KernelCounters kernel;
  const auto cell = [&](size_t which) { return which < line.cells.size() ? line.cells[which] : std::string(); };
  kernel.kernel = cell(columns.kernel);
  if (columns.has(columns.grid)) kernel.grid = dimensions(cell(columns.grid));
  if (columns.has(columns.block)) kernel.block = dimensions(cell(columns.block));
  if (columns.has(columns.stream)) kernel.stream = whole(cell(columns.stream));
  if (columns.has(columns.device)) kernel.device = whole(cell(columns.device));
  return kernel;
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& path) : reader_(text, path), path_(path) {}

  NcuFile read() {
    CsvRow header;
    while (next_row(reader_, header)) {
      const bool is_header = std::find(header.cells.begin(), header.cells.end(), "Kernel Name") != header.cells.end();
      if (!is_header) continue;  // a line that the measured program printed
      const Columns columns(header.cells);
      if (columns.is_long())
        read_long(columns);
      else
        read_wide(header.cells, columns);
      break;
    }
    if (file_.kernels.empty())
      throw Error(ErrorKind::input,
                  fmt::format("{}: no kernels of Nsight Compute in it: 'ncu --csv' or 'ncu --csv --page raw' writes such a table", path_));
    const Families families;
    for (KernelCounters& kernel : file_.kernels) kernel.family = families.of(kernel.kernel, "");
    if (file_.not_available > 0)
      file_.notes.push_back(fmt::format("{} values are n/a: what they count is not there, and is not taken for 0", file_.not_available));
    return std::move(file_);
  }

 private:
  void put(KernelCounters& kernel, const CsvRow& line, const std::string& metric, const std::string& value, const std::string& unit) {
    if (is_missing(value)) {
      ++file_.not_available;
      return;
    }
    double number = 0;
    // Words such as "Low" or a cache's configuration are not counts.
    if (!ncu_value(value, unit, number)) {
      if (metric.find("__") != std::string::npos && metric.find('.') != std::string::npos)
        fail(path_, line.line, fmt::format("{} is '{}', which is not a number", metric, value));
      return;
    }
    kernel.metrics[metric] = number;
  }
  void read_long(const Columns& columns) {
    std::string last_id;
    for (CsvRow line; next_row(reader_, line);) {
      require_width(line, columns);
      const std::string id = columns.has(columns.id) ? line.cells[columns.id] : line.cells[columns.kernel];
      if (file_.kernels.empty() || id != last_id) file_.kernels.push_back(kernel_of(line, columns));
      last_id = id;
      put(file_.kernels.back(), line, line.cells[columns.metric], line.cells[columns.value],
          columns.has(columns.unit) ? line.cells[columns.unit] : std::string());
    }
  }
  void read_wide(const std::vector<std::string>& header, const Columns& columns) {
    CsvRow units;
    if (!next_row(reader_, units)) return;
    require_width(units, columns);
    // A table without a line of units begins with a kernel at once.
    const bool has_units = units.cells[columns.kernel].empty();
    const std::vector<std::string> unit_cells = has_units ? units.cells : std::vector<std::string>(header.size());
    const auto take = [&](const CsvRow& line) {
      require_width(line, columns);
      file_.kernels.push_back(kernel_of(line, columns));
      for (size_t i = 0; i < header.size(); ++i)
        if (header[i].find("__") != std::string::npos) put(file_.kernels.back(), line, header[i], line.cells[i], unit_cells[i]);
    };
    if (!has_units) take(units);
    for (CsvRow line; next_row(reader_, line);) take(line);
  }
  void require_width(const CsvRow& line, const Columns& columns) const {
    if (line.cells.size() != columns.count)
      fail(path_, line.line, fmt::format("{} cells where the header has {}", line.cells.size(), columns.count));
  }

  CsvReader reader_;
  const std::string& path_;
  NcuFile file_;
};

}  // namespace

bool ncu_value(const std::string& value, const std::string& unit, double& result) {
  std::string digits;
  for (const char c : trim(value))
    if (c != ',' && c != ' ' && c != '\'') digits += c;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(result)) return false;
  result *= factor_of(trim(unit));
  return true;
}

NcuFile read_ncu_csv(const std::string& text, const std::string& path) { return Reader(text, path).read(); }

}  // namespace deepgap
