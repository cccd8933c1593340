#include "worker/turns.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <utility>

namespace deepgap {
namespace {

nlohmann::json payload_of(Frame& frame) { return std::move(frame.header["payload"]); }

[[noreturn]] void unexpected(const std::string& kind, const char* wanted) {
  throw Error(ErrorKind::internal, fmt::format("the parent said '{}' to a worker that waits for '{}'", kind, wanted));
}

}  // namespace

Frame ChannelTurns::hear() {
  auto frame = reader_.read();
  if (!frame) throw Error(ErrorKind::internal, "the parent is gone");
  return std::move(*frame);
}

nlohmann::json ChannelTurns::meet(const nlohmann::json& payload) {
  writer_.write({{{"kind", turn_frame::meet}, {"payload", payload}}, {}});
  Frame said = hear();
  const std::string kind = said.header.value("kind", "");
  if (kind != turn_frame::met) unexpected(kind, turn_frame::met);
  return payload_of(said);
}

void ChannelTurns::take_turns(const nlohmann::json& ready, const std::function<Frame(const nlohmann::json& turn)>& take) {
  writer_.write({{{"kind", turn_frame::ready}, {"payload", ready}}, {}});
  for (;;) {
    Frame said = hear();
    const std::string kind = said.header.value("kind", "");
    if (kind == turn_frame::over) return;
    if (kind != turn_frame::turn) unexpected(kind, turn_frame::turn);
    Frame done = take(payload_of(said));
    done.header["kind"] = turn_frame::done;
    writer_.write(done);
  }
}

}  // namespace deepgap
