#include "worker/turns.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace deepgap {
namespace {

nlohmann::json payload_of(Frame& frame) { return std::move(frame.header["payload"]); }

[[noreturn]] void unexpected(const std::string& kind, const char* wanted) {
  throw Error(ErrorKind::internal, fmt::format("the parent sent '{}' to a worker that waits for '{}'", kind, wanted));
}

bool exchanges(const nlohmann::json& said) { return said.is_object() && said.contains("said") && said.at("said").is_string(); }

}  // namespace

std::vector<std::string> exchange_with_ranks(Turns& turns, const std::string& said) {
  const nlohmann::json answer = turns.meet({{"said", said}});
  if (!answer.is_object() || !answer.contains("said"))
    throw Error(ErrorKind::internal, "the parent did not send the results of the other ranks");
  return answer.at("said").get<std::vector<std::string>>();
}

nlohmann::json answer_meeting(const std::vector<nlohmann::json>& said, const std::function<Nanoseconds()>& begin) {
  const auto exchanging = std::count_if(said.begin(), said.end(), exchanges);
  if (exchanging == 0) return {{"begin", begin()}};
  if (exchanging != static_cast<std::ptrdiff_t>(said.size()))
    throw Error(ErrorKind::internal, "some of the processes that measure together load while others are ready to begin");
  nlohmann::json all = nlohmann::json::array();
  for (const nlohmann::json& one : said) all.push_back(one.at("said"));
  return {{"said", std::move(all)}};
}

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
