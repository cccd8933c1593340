#include "mlperf/loadgen/logs.h"

#include "base/output_file.h"
#include "mlperf/loadgen/summary_log.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace deepgap {
namespace {

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(ErrorKind::input, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

std::ofstream open_log(const std::string& folder, const char* name) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);  // opening the file reports a failure
  const std::string path = folder + "/mlperf_log_" + name;
  refuse_foreign_links(path);
  std::ofstream file(path, std::ios::binary);
  if (!file) cannot_write(path);
  return file;
}

std::string hex_upper(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02X}", static_cast<unsigned char>(byte));
  return text;
}

double microseconds(Nanoseconds ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

LoadgenLogs::LoadgenLogs(const std::string& folder, const LoadgenLogNames& names, const LoadgenSettings& settings, const Clock& clock,
                         int64_t unix_ns, bool trace)
    : folder_(folder),
      names_(names),
      settings_(settings),
      clock_(clock),
      origin_(clock.now()),
      unix_ns_(unix_ns),
      summary_out_(open_log(folder, "summary.txt")),
      detail_out_(open_log(folder, "detail.txt")),
      accuracy_out_(open_log(folder, "accuracy.json")),
      detail_(detail_out_, clock, unix_ns) {
  accuracy_out_ << "[";
  if (trace) {
    trace_out_ = open_log(folder, "trace.json");
    trace_out_ << "{\"traceEvents\":[\n";
  }
  detail_.begin(names_, settings_);
}

void LoadgenLogs::on_sample(const LoadgenFinishedSample& sample) {
  if (sample.logged) {
    accuracy_out_ << fmt::format("{}{{ \"seq_id\" : {}, \"qsl_idx\" : {}, \"data\" : \"{}\"{} }}", any_answer_ ? ",\n" : "\n",
                                 sample.sequence, sample.index, hex_upper(sample.answer), tokens_text(sample));
    any_answer_ = true;
  }
  if (trace_out_.is_open()) trace(sample);
}

// The first token as the target would deliver it alone, and how many there are.
std::string LoadgenLogs::tokens_text(const LoadgenFinishedSample& sample) const {
  if (!settings_.token_latencies) return "";
  std::string count = fmt::format(", \"token_count\" : {}", sample.tokens);
  if (settings_.scenario == LoadgenScenario::offline) return count;
  const size_t bytes = sample.tokens > 0 ? sample.answer.size() / static_cast<size_t>(sample.tokens) : 0;
  return fmt::format(", \"token_data\" : \"{}\"", hex_upper(sample.answer.substr(0, bytes))) + count;
}

// Chrome's trace events, times in us.
void LoadgenLogs::trace(const LoadgenFinishedSample& sample) {
  const double scheduled = microseconds(sample.scheduled - origin_);
  const int pid = ::getpid();
  if (settings_.scenario == LoadgenScenario::server)
    trace_out_ << fmt::format(
        "{{\"name\":\"Latency\",\"ph\": \"C\",\"pid\":{},\"ts\":{:.3f},\"args\":{{ \"issue_delay\":{},\"issue_to_done\":{}}}}},\n", pid,
        scheduled, sample.issued - sample.scheduled, sample.done - sample.issued);
  trace_out_ << fmt::format(
      "{{\"name\":\"Sample\",\"cat\":\"default\",\"ph\":\"b\",\"pid\":{},\"id\":{},\"ts\":{:.3f},\"args\":{{\"sample_seq\":{},"
      "\"query_seq\":{},\"sample_idx\":{},\"issue_start_ns\":{},\"complete_ns\":{}}}}},\n",
      pid, sample.sequence, scheduled, sample.sequence, sample.query, sample.index, sample.issued - sample.scheduled,
      sample.done - sample.scheduled);
  trace_out_ << fmt::format("{{\"name\":\"Sample\",\"cat\":\"default\",\"ph\":\"e\", \"pid\":{},\"id\":{},\"ts\":{:.3f}}},\n", pid,
                            sample.sequence, microseconds(sample.done - origin_));
}

void LoadgenLogs::on_result(const LoadgenPhaseResult& result) {
  detail_.issued(result);
  queries_ = result.queries;
}

void LoadgenLogs::finish(const LoadgenVerdict* verdict) {
  if (verdict != nullptr) detail_.verdict(settings_, *verdict, queries_);
  summary_out_ << loadgen_summary(names_.system, settings_, verdict, detail_.errors());
  accuracy_out_ << "\n]\n";
  if (trace_out_.is_open()) {
    trace_out_ << fmt::format(
        "{{\"name\":\"LastTrace\"}}\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{{\n\"ts\":{:.3f},\n\"version\":\"{}\"\n}}\n}}\n",
        microseconds(unix_ns_), names_.program);
    trace_out_.close();
    if (!trace_out_) cannot_write(folder_ + "/mlperf_log_trace.json");
  }
  for (std::ofstream* file : {&summary_out_, &detail_out_, &accuracy_out_}) {
    file->close();
    if (!*file) cannot_write(folder_ + "/mlperf_log_*");
  }
}

}  // namespace deepgap
