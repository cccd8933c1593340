#include "cli/child.h"

#include "base/subprocess.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <filesystem>

namespace deepgap {

nlohmann::json ask_child(const std::string& command, const nlohmann::json& request, const std::string& who, const std::string& work,
                         const std::function<void(const Frame&)>& on_frame) {
  SubprocessOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.arguments = {"deepgap", command};
  options.channel = true;
  Subprocess child(options);
  FrameWriter(child.channel()).write({request, {}});
  FrameReader reader(child.channel());
  while (const auto frame = reader.read()) {
    const std::string kind = frame->header.at("kind");
    if (kind == "error") throw Error(static_cast<ErrorKind>(frame->header.at("error").get<int>()), frame->header.at("message"));
    if (kind == "done") return frame->header;
    if (on_frame) on_frame(*frame);
  }
  const auto state = child.wait(std::chrono::seconds(10));
  throw Error(ErrorKind::refused,
              fmt::format("{} {} while it {}: {}", who, state ? state->describe() : "stopped answering", work, trim(child.output_tail())));
}

}  // namespace deepgap
