#include "plan/point_fields.h"

#include "base/text.h"
#include "plan/usual_names.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace deepgap {
namespace {

const std::vector<std::string> tasks{"infer", "train", "generate"};
const std::vector<std::string> precisions{"fp32", "tf32", "bf16", "fp16", "int8", "fp8", "mixed"};
const std::vector<std::string> device_kinds{"cpu", "cuda"};

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

std::string one_of(const std::vector<std::string>& known, const char* kind, const std::string& value) {
  if (std::find(known.begin(), known.end(), value) == known.end()) fail(unknown_name(kind, value, known));
  return value;
}

int64_t whole_number(const std::string& name, const std::string& value, int64_t least, int64_t most) {
  const auto number = parse_int(value);
  if (!number || *number < least || *number > most)
    fail(fmt::format("invalid value '{1}' for {0}: expected a whole number from {2} to {3}", name, value, least, most));
  return *number;
}

std::string not_empty(const std::string& name, const std::string& value) {
  if (value.empty()) fail(fmt::format("{}: an empty value", name));
  return value;
}

// "127.0.0.1:8000", "host:8000": a server whose scheme was left out.
bool is_address(const std::string& value) {
  constexpr int64_t least_port = 80;  // "npu:0" is none
  const size_t colon = value.rfind(':');
  if (colon == std::string::npos || colon == 0 || value.find('/') < colon) return false;
  const auto port = parse_int(value.substr(colon + 1, value.find('/') - colon - 1));
  const std::string host = value.substr(0, colon);
  return port && *port >= least_port && std::find(device_kinds.begin(), device_kinds.end(), host) == device_kinds.end();
}

void require_port(const DeviceId& server, const std::string& value) {
  const std::string host = server.host.substr(0, server.host.find('/'));
  const size_t colon = host.rfind(':');
  if (colon == std::string::npos || colon + 1 == host.size() || host.ends_with(']')) return;
  const auto port = parse_int(host.substr(colon + 1));
  if (!port || *port < 1 || *port > 65'535)
    fail(fmt::format("device: '{}': '{}' is not a port; expected 1 to 65535", value, host.substr(colon + 1)));
}

Placement parse_placement(const std::string& value) {
  const auto placement = placement_from(value);
  if (!placement && value.find("://") != std::string::npos)
    fail(fmt::format(
        "device: '{}' is not a server; expected http://host:port, https://, grpc:// or grpcs://, without a user, a password or a query",
        value));
  if (is_address(value))
    fail(fmt::format("invalid value '{}' for device: expected http://{} or grpc://{} for a server", value, value, value));
  if (!placement) fail(fmt::format("invalid value '{}' for device: expected cpu, cuda:0 or, for several, cuda:0+cuda:1", value));
  for (const DeviceId& device : placement->devices) {
    if (is_remote(device) && device.host.empty())
      fail(fmt::format("device: '{}' is a scheme alone; write {}://host:port", value, device.kind));
    if (is_remote(device)) require_port(device, value);
    if (!is_remote(device)) one_of(device_kinds, "device", device.kind);
  }
  return *placement;
}

bool ordered(const std::string& op) { return op != "=" && op != "!="; }

template <typename T>
bool compare(const T& left, const std::string& op, const T& right) {
  if (op == "=") return left == right;
  if (op == "!=") return left != right;
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  if (op == ">") return left > right;
  return left >= right;
}

bool same_device(const Placement& placement, const std::string& value) {
  const auto is_kind = [&](const DeviceId& device) { return device.kind == value; };
  if (std::find(device_kinds.begin(), device_kinds.end(), value) != device_kinds.end() && value != "cpu") {
    return std::all_of(placement.devices.begin(), placement.devices.end(), is_kind);
  }
  return placement_from(value) == placement;
}

// Numbers as numbers, so that "08" and "8" are the same; also durations and per cents of options.
std::optional<double> as_number(const std::string& text) {
  if (const auto number = parse_double(text)) return number;
  if (const auto duration = parse_duration(text)) return static_cast<double>(*duration);
  return std::nullopt;
}

}  // namespace

Precision precision_named(const std::string& name) { return *precision_from(one_of(precisions, "precision", name)); }

const std::vector<std::string>& point_field_names() {
  static const std::vector<std::string> names{"task",      "model",     "weights", "dataset",  "backend", "device",
                                              "processes", "precision", "batch",   "scenario", "threads"};
  return names;
}

bool is_point_field(const std::string& name) {
  const auto& names = point_field_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_option_name(const std::string& name) {
  constexpr std::string_view small = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  constexpr std::string_view environment = "env.";  // its names are not ours to spell
  const bool of_environment = name.starts_with(environment) && name.size() > environment.size() && name.find('=') == std::string::npos;
  const bool ours = name.find_first_not_of(small) == std::string::npos && name.find("..") == std::string::npos;
  return of_environment || (!name.empty() && ours && name[0] >= 'a' && name[0] <= 'z' && name.back() != '.');
}

void set_on_point(Point& point, const std::string& name, const std::string& written, int cpus) {
  const std::string value = usual_name(name, written);
  constexpr int64_t most_batch = int64_t{1} << 30;
  constexpr int64_t most_threads = 65'536;
  if (name == "task") {
    point.task = one_of(tasks, "task", value);
  } else if (name == "model") {
    point.model = not_empty(name, value);
  } else if (name == "weights") {
    point.weights = not_empty(name, value);
  } else if (name == "dataset") {
    point.dataset = not_empty(name, value);
  } else if (name == "backend") {
    point.backend = not_empty(name, value);
    if (point.backend == "openai") point.task = "generate";  // which is all that it does
  } else if (name == "device") {
    const int processes = point.placement.processes;
    point.placement = parse_placement(value);
    if (point.placement.processes == 1) point.placement.processes = processes;
  } else if (name == "processes") {
    point.placement.processes = static_cast<int>(whole_number(name, value, 1, 1024));
  } else if (name == "precision") {
    point.precision = precision_named(value);
  } else if (name == "batch") {
    point.batch = whole_number(name, value, 1, most_batch);
  } else if (name == "scenario") {
    point.scenario = not_empty(name, value);
  } else if (name == "threads") {
    point.threads = value == "cpus" ? cpus : static_cast<int>(whole_number(name, value, 0, most_threads));
    if (point.threads == 0) point.threads = cpus;
  } else if (is_option_name(name)) {
    point.options[name] = value;
  } else {
    fail(fmt::format("'{}' cannot name an axis: names are small letters, digits and '_'", name));
  }
}

std::optional<std::string> value_on_point(const Point& point, const std::string& name) {
  if (name == "task") return point.task;
  if (name == "model") return point.model;
  if (name == "weights") return point.weights;
  if (name == "dataset") return point.dataset;
  if (name == "backend") return point.backend;
  if (name == "device") return placement_name(point.placement);
  if (name == "processes") return std::to_string(point.placement.processes);
  if (name == "precision") return std::string(name_of(point.precision));
  if (name == "batch") return std::to_string(point.batch);
  if (name == "scenario") return point.scenario;
  if (name == "threads") return std::to_string(point.threads);
  const auto option = point.options.find(name);
  if (option == point.options.end()) return std::nullopt;
  return option->second;
}

void check_condition(const Condition& condition, const std::set<std::string>& options) {
  if (!is_point_field(condition.axis) && !options.contains(condition.axis)) {
    std::vector<std::string> known = point_field_names();
    known.insert(known.end(), options.begin(), options.end());
    fail(unknown_name("axis", condition.axis, known));
  }
  const bool word_cpus = condition.axis == "threads" && condition.value == "cpus";
  if (ordered(condition.op) && !word_cpus && !as_number(condition.value)) {
    fail(fmt::format("{}: '{} {}' compares with no number", condition.axis, condition.op, condition.value));
  }
  if (is_point_field(condition.axis) && !ordered(condition.op)) {
    Point ignored;
    set_on_point(ignored, condition.axis, condition.value, 1);  // throws for what no Point can have
  }
}

bool holds(const Condition& condition, const Point& point, int cpus) {
  if (condition.axis == "device" && !ordered(condition.op)) {
    return same_device(point.placement, condition.value) == (condition.op == "=");
  }
  const auto actual = value_on_point(point, condition.axis);
  if (!actual) return condition.op == "!=";
  const bool word_cpus = condition.axis == "threads" && condition.value == "cpus";
  const std::string wanted = word_cpus ? std::to_string(cpus) : usual_name(condition.axis, condition.value);
  const auto left = as_number(*actual), right = as_number(wanted);
  if (left && right) return compare(*left, condition.op, *right);
  return !ordered(condition.op) && compare(*actual, condition.op, wanted);
}

}  // namespace deepgap
