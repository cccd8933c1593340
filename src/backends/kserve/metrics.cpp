#include "backends/kserve/metrics.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace deepgap {
namespace {

struct Sum {
  double sum = 0;
  int count = 0;
};

// "name{labels} value" or "name value", a line each; labels may hold blanks.
Sum sum_of(std::string_view text, std::string_view name) {
  Sum found;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name) || line.size() == name.size()) continue;
    const char next = line[name.size()];
    const size_t closing = line.rfind('}');
    if (next != ' ' && (next != '{' || closing == std::string_view::npos)) continue;
    const auto value = parse_double(trim(line.substr(next == ' ' ? name.size() : closing + 1)));
    if (!value) continue;
    found.sum += *value;
    ++found.count;
  }
  return found;
}

std::optional<double> total(std::string_view text, std::string_view name) {
  const Sum found = sum_of(text, name);
  return found.count == 0 ? std::nullopt : std::optional(found.sum);
}

}  // namespace

ServerGpus read_gpu_metrics(std::string_view text) {
  ServerGpus gpus;
  if (const Sum used = sum_of(text, "nv_gpu_utilization"); used.count > 0) gpus.utilization = used.sum / used.count;
  gpus.memory_used_bytes = total(text, "nv_gpu_memory_used_bytes");
  gpus.power_w = total(text, "nv_gpu_power_usage");
  gpus.energy_j = total(text, "nv_energy_consumption");
  return gpus;
}

namespace {

// What the readings tell of `field`, which not all of them need to.
std::vector<double> values_of(std::span<const ServerGpus> readings, std::optional<double> ServerGpus::*field) {
  std::vector<double> values;
  for (const ServerGpus& reading : readings)
    if (reading.*field) values.push_back(*(reading.*field));
  return values;
}

}  // namespace

std::map<std::string, double> over_window(std::span<const ServerGpus> readings) {
  std::map<std::string, double> found{{"server.gpu_readings", static_cast<double>(readings.size())}};
  const auto mean = [&](const char* name, std::optional<double> ServerGpus::*field) {
    const std::vector<double> values = values_of(readings, field);
    if (!values.empty()) found[name] = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  mean("server.gpu_utilization", &ServerGpus::utilization);
  mean("server.gpu_power_w", &ServerGpus::power_w);
  const std::vector<double> memory = values_of(readings, &ServerGpus::memory_used_bytes),
                            energy = values_of(readings, &ServerGpus::energy_j);
  if (!memory.empty()) found["server.gpu_memory_used_bytes"] = *std::max_element(memory.begin(), memory.end());
  if (energy.size() > 1 && std::is_sorted(energy.begin(), energy.end()))  // else it started again
    found["server.gpu_energy_j"] = energy.back() - energy.front();
  return found;
}

MetricsReader::MetricsReader(const std::string& url, const KserveSettings& settings, std::chrono::milliseconds period)
    : address_{url, "", settings.ca_file}, timeout_(settings.timeout), request_(address_, most) {
  readings_.push_back(ask(request_));
  thread_ = std::jthread([this, period](const std::stop_token& stop) { read_on(stop, period); });
}

ServerGpus MetricsReader::ask(HttpRequest& request) const {
  request.get("", timeout_);
  if (const auto fault = request.perform())
    throw Error(ErrorKind::refused, fmt::format("the metrics at {}: {}", address_.base, fault->what));
  return read_gpu_metrics(request.body().json());
}

std::map<std::string, double> MetricsReader::take() {
  const ServerGpus now = ask(request_);
  const std::lock_guard lock(mutex_);
  readings_.push_back(now);
  const std::vector<ServerGpus> window = std::exchange(readings_, {now});
  return over_window(window);
}

void MetricsReader::read_on(const std::stop_token& stop, std::chrono::milliseconds period) {
  HttpRequest request(address_, most);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, period, [] { return false; }) && !stop.stop_requested()) {
    lock.unlock();
    std::optional<ServerGpus> reading;
    try {
      reading = ask(request);
    } catch (const Error&) {  // at the window's ends it is told
    }
    lock.lock();
    if (reading) readings_.push_back(*reading);
  }
}

}  // namespace deepgap
