#include "worker/child_call.h"

#include "base/subprocess.h"
#include "base/text.h"
#include "worker/protocol.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <new>

namespace deepgap {
namespace {

using nlohmann::json;

json answer_of(const json& request, const std::function<json(const json&)>& answer) {
  const auto error = [](ErrorKind kind, const std::string& message) {
    return json{{"kind", "error"}, {"error", static_cast<int>(kind)}, {"message", message}};
  };
  try {
    return {{"kind", "answer"}, {"answer", answer(request)}};
  } catch (const Error& failure) {
    return error(failure.kind(), failure.what());
  } catch (const std::bad_alloc&) {
    return error(ErrorKind::out_of_memory, "memory does not suffice");
  } catch (const std::exception& failure) {
    return error(ErrorKind::refused, failure.what());
  }
}

}  // namespace

json call_child(const std::string& command, const json& request, const std::string& subject) {
  SubprocessOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.arguments = {"deepgap", command};
  options.channel = true;
  Subprocess child(options);
  FrameWriter(child.channel()).write({request, {}});
  if (const auto frame = FrameReader(child.channel()).read()) {
    if (frame->header.at("kind") == "answer") return frame->header.at("answer");
    throw Error(static_cast<ErrorKind>(frame->header.at("error").get<int>()), frame->header.at("message"));
  }
  const auto state = child.wait(std::chrono::seconds(10));
  const std::string output = trim(child.output_tail());
  throw Error(ErrorKind::refused, fmt::format("{} {}{}{}", subject, state ? "was ended: " + state->describe() : "stopped answering",
                                              output.empty() ? "" : "; ", output.substr(output.find_last_of('\n') + 1)));
}

int serve_call(int channel, const std::function<json(const json&)>& answer) {
  FrameWriter writer(channel);
  const auto request = FrameReader(channel).read();
  if (!request) return 1;
  writer.write({answer_of(request->header, answer), {}});
  ::_exit(0);
}

}  // namespace deepgap
