#include "record/duel_set.h"

#include "base/text.h"
#include "record/dataset_hash.h"
#include "record/point_axis.h"
#include "record/point_option.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace deepgap {
namespace {

constexpr const char* between_contenders = " + ";
constexpr const char* after_axis = ": ";

std::vector<std::string> names_of(const std::string& duel) {
  std::vector<std::string> names;
  const std::string_view separator = between_contenders;
  const size_t axis = duel.find(after_axis);
  size_t begin = axis == std::string::npos ? 0 : axis + std::string_view(after_axis).size();
  for (size_t end = duel.find(separator, begin); end != std::string::npos; end = duel.find(separator, begin)) {
    names.push_back(duel.substr(begin, end - begin));
    begin = end + separator.size();
  }
  names.push_back(duel.substr(begin));
  return names;
}

}  // namespace

void join_duel(std::span<Point> points, const std::string& axis, std::span<const std::string> values) {
  const std::string duel = axis + after_axis + join({values.begin(), values.end()}, between_contenders);
  for (size_t i = 0; i < points.size(); ++i) {
    points[i].options["duel"] = duel;
    points[i].options["contender"] = fmt::format("{}/{}", i + 1, points.size());
  }
}

std::optional<ContenderPlace> contender_place(const Point& point) {
  const std::vector<std::string> parts = split(option_of(point, "contender"), '/');
  if (parts.size() != 2 || !point.options.contains("duel")) return std::nullopt;
  const auto number = parse_int(parts[0]), count = parse_int(parts[1]);
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return ContenderPlace{static_cast<int>(*number), static_cast<int>(*count)};
}

std::string duel_axis(const Point& point) {
  const std::string duel = option_of(point, "duel");
  return duel.substr(0, duel.find(after_axis));
}

std::string contender_name(const Point& point) {
  const std::vector<std::string> names = names_of(option_of(point, "duel"));
  const auto index = static_cast<size_t>(contender_place(point)->number - 1);
  return index < names.size() ? names[index] : point.backend;
}

std::string first_contender_name(const Point& point) { return names_of(option_of(point, "duel")).front(); }

Point duel_of(Point point) {
  const std::string axis = duel_axis(point);
  if (axis == "dataset") point.options.erase(dataset_hash_option);
  if (axis == "backend") point = without_engine(std::move(point));  // options of one engine are that contender's alone
  forget_axis(point, axis);
  point.options.erase("contender");
  return point;
}

Point without_engine(Point point) {
  std::erase_if(point.options, [prefix = point.backend + "."](const auto& option) { return option.first.starts_with(prefix); });
  point.backend.clear();
  return point;
}

Point without_duel(Point point) {
  point.options.erase("duel");
  point.options.erase("contender");
  return point;
}

}  // namespace deepgap
