#include "run/read_in_child.h"

#include "base/text.h"
#include "worker/reading.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <set>

namespace deepgap {

ChildLimits reader_limits(const std::vector<std::string>& files) {
  constexpr uint64_t gibibyte = uint64_t{1} << 30;
  uint64_t bytes = 0;
  for (const std::string& file : std::set(files.begin(), files.end())) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode)) bytes += static_cast<uint64_t>(info.st_size);
  }
  ChildLimits limits;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limits.data_bytes = 8 * gibibyte + 4 * bytes;
#endif
  limits.cpu_seconds = 120 + bytes / (gibibyte / 20);
  return limits;
}

std::string broken_limit(const ExitState& state, const ChildLimits& limits) {
  if (state.signal == SIGXCPU && limits.cpu_seconds)
    return fmt::format("reading it took more than {} s of CPU time, which is the limit", *limits.cpu_seconds);
  if (state.signal == SIGXFSZ) return "something tried to write a file, which the reading process must not do";
  return "";
}

void read_in_child(const nlohmann::json& request, const std::string& subject, const std::vector<std::string>& files) {
  const ChildLimits limits = reader_limits(files);
  ChildProcess child(reading_command, {}, limits);
  child.send({request, {}});
  const auto wait_settings = std::chrono::seconds(2 * *limits.cpu_seconds);
  const auto deadline = std::chrono::steady_clock::now() + wait_settings;
  const auto refuse = [&](const std::string& why) { throw Error(ErrorKind::input, fmt::format("cannot read {}: {}", subject, why)); };
  Frame frame;
  switch (child.wait(frame, deadline)) {
    case ChildProcess::Event::frame:
      throw_error(frame);
      return;
    case ChildProcess::Event::silence:
      return refuse(fmt::format("reading it took longer than {} s", wait_settings.count()));
    case ChildProcess::Event::interrupted:  // not asked for
    case ChildProcess::Event::ended:
      const ExitState state = child.exit_state();
      const std::string limit = broken_limit(state, limits), said = trim(child.output_tail());
      return refuse(!limit.empty() ? limit
                                   : fmt::format("the process that read it died ({}){}{}", state.describe(), said.empty() ? "" : ": ",
                                                 join(split(said, '\n'), " ")));
  }
}

}  // namespace deepgap
