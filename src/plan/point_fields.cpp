#include "plan/point_fields.h"

#include "base/messages.h"
#include "base/text.h"
#include "plan/usual_names.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

const std::vector<std::string> device_kinds{"cpu", "cuda"};

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

// "127.0.0.1:8000", "host:8000": a server whose scheme was left out.
bool is_address(const std::string& value) {
  constexpr int64_t least_port = 80;  // "npu:0" is none
  const size_t colon = value.rfind(':');
  if (colon == std::string::npos || colon == 0 || value.find('/') < colon) return false;
  const auto port = parse_int(value.substr(colon + 1, value.find('/') - colon - 1));
  const std::string host = value.substr(0, colon);
  return port && *port >= least_port && std::find(device_kinds.begin(), device_kinds.end(), host) == device_kinds.end();
}

[[noreturn]] void refuse_device(const std::string& value) {
  const std::string kind = value.substr(0, value.find(':'));
  const bool is_known = std::find(device_kinds.begin(), device_kinds.end(), kind) != device_kinds.end();
  fail(invalid_value(value, "device", "cpu, cuda:0 or, for several, cuda:0+cuda:1") + (is_known ? "" : did_you_mean(kind, device_kinds)));
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
  if (!placement) refuse_device(value);
  for (const DeviceId& device : placement->devices) {
    if (is_remote(device) && device.host.empty())
      fail(fmt::format("device: '{}' is a scheme alone; write {}://host:port", value, device.kind));
    if (is_remote(device)) require_port(device, value);
    if (!is_remote(device) && std::find(device_kinds.begin(), device_kinds.end(), device.kind) == device_kinds.end()) refuse_device(value);
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

void set_placement(Point& point, const std::string& value) {
  const int processes = point.placement.processes;
  point.placement = parse_placement(value);
  if (point.placement.processes == 1) point.placement.processes = processes;
}

void add_name(OptionTable<Point>& table, const char* name, const char* describe, std::string Point::*field) {
  const auto parse = [](const std::string& value) { return value.empty() ? std::nullopt : std::optional(value); };
  table.parsed({name, describe, ""}, "a name", field, parse, [](const std::string& value) { return value; });
}

void add_work(OptionTable<Point>& table) {
  OptionTable<Point>::Choices<Task> tasks;
  for (const Task task : all_tasks) tasks.emplace_back(name_of(task), task);
  table.choice("task", "task: infer, train (forward, loss, backward and update), or generate (tokens)", &Point::task, tasks)
      .by_default("infer; openai: generate");
  add_name(table, "model", "zoo names (deepgap models), ONNX or GGUF files", &Point::model);
  add_name(table, "weights", "weights: seeded, a named set (imagenet), or a safetensors file", &Point::weights);
  add_name(table, "dataset",
           "dataset: for generation a file of prompts (.txt, .jsonl, .json, .csv); else seeded, zeros, pictures, crops, or a path",
           &Point::dataset);
  add_name(table, "scenario", "scenario of load (all: run --help)", &Point::scenario);
  table.count("batch", "samples per query: 1,2,4 or 1..512*2", &Point::batch, 1, int64_t{1} << 30);
}

void add_engine(OptionTable<Point>& table) {
  OptionTable<Point>::Choices<Precision> precisions;
  for (const char* name : {"fp32", "tf32", "bf16", "fp16", "mixed", "fp8", "int8"}) precisions.emplace_back(name, *precision_from(name));
  add_name(table, "backend", "engines (see deepgap backends)", &Point::backend);
  table.row(
      {"device", "devices: cpu, cuda:0; cuda:0+cuda:1 is one point on two devices; http://host:port and grpc://host:port are servers", ""},
      "",
      [](Point& point, const std::string& value) {
        set_placement(point, value);
        return true;
      },
      [](const Point& point) { return placement_name(point.placement); });
  table.choice("precision", "precisions: fp32, tf32, bf16, fp16, mixed, fp8, int8", &Point::precision, precisions);
  table.count(
      "processes", "processes that measure together, each on its share of the devices",
      [](auto& point) -> auto& { return point.placement.processes; }, 1, 1024);
  table.parsed(
      {"threads", "engine threads", "all allowed CPUs", false, OptionKind::count, {"cpus"}, 0, 65'536}, "", &Point::threads,
      [](const std::string& value) { return value == "cpus" ? 0 : parse_int(value); }, [](int threads) { return std::to_string(threads); });
}

}  // namespace

const OptionTable<Point>& point_fields() {
  static const OptionTable<Point> table = [] {
    OptionTable<Point> made;
    add_work(made);
    add_engine(made);
    return made;
  }();
  return table;
}

Precision precision_named(const std::string& name) {
  Point point;
  point_fields().set(point, "precision", name);
  return point.precision;
}

std::vector<std::string> point_field_names() {
  std::vector<std::string> names;
  for (const OptionInfo& field : point_fields().infos()) names.push_back(field.name);
  return names;
}

bool is_point_field(const std::string& name) { return point_fields().find(name) != nullptr; }

bool is_option_name(const std::string& name) {
  constexpr std::string_view small = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  constexpr std::string_view environment = "env.";  // its names are not ours to spell
  const bool of_environment = name.starts_with(environment) && name.size() > environment.size() && name.find('=') == std::string::npos;
  const bool ours = name.find_first_not_of(small) == std::string::npos && name.find("..") == std::string::npos;
  return of_environment || (!name.empty() && ours && name[0] >= 'a' && name[0] <= 'z' && name.back() != '.');
}

void set_on_point(Point& point, const std::string& name, const std::string& written, int cpus) {
  const std::string value = usual_name(name, written);
  if (point_fields().set(point, name, value)) {
    if (name == "backend" && value == "openai") point.task = Task::generate;  // which is all that it does
    if (name == "threads" && point.threads == 0) point.threads = cpus;
  } else if (is_option_name(name)) {
    point.options[name] = value;
  } else {
    fail(fmt::format("'{}' cannot name an axis: names are small letters, digits and '_'", name));
  }
}

std::optional<std::string> value_on_point(const Point& point, const std::string& name) {
  if (auto field = point_fields().value(point, name)) return field;
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
