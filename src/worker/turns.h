// Turns: what a worker that stays loaded and its parent say to each other, so that the parent can drive several of them: all from one
// instant (processes of a Point, tenants), or one after the other (contenders). On top of worker/protocol.h; run/worker_set.h is the
// parent's side.
//
//   worker   {"kind":"meet","payload":P}     it has come to where all of its set meet, and waits
//   parent   {"kind":"met","payload":Q}      all have come; Q is the same for all
//   worker   {"kind":"ready","payload":P}    it is loaded and warm, and waits for its turn
//   parent   {"kind":"turn","payload":Q}     its turn
//   worker   {"kind":"done","payload":P}     what the turn gave, with blocks where it has some; it waits for the next
//   parent   {"kind":"over"}                 no turn is left: what comes next is the answer to the order
//
// A payload is any JSON value; those who use it say what is in it. While it waits for its parent, a worker is silent.
//
// Workers of a set meet once before their windows: payload null, and the answer is {"begin": time}. Before that they may meet to exchange
// texts, as the ranks of a training do while they load: {"said": text}, and the answer is {"said": [text, ...]} in the set's order.
#pragma once

#include "worker/protocol.h"

#include <deepgap/clock.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

namespace turn_frame {
inline constexpr const char* meet = "meet";
inline constexpr const char* met = "met";
inline constexpr const char* ready = "ready";
inline constexpr const char* turn = "turn";
inline constexpr const char* done = "done";
inline constexpr const char* over = "over";
}  // namespace turn_frame

// The worker's side; its main thread.
class Turns {
 public:
  virtual ~Turns() = default;
  // Waits until all of the set have come, and returns what the parent says to all of them. `payload` is for the parent.
  virtual nlohmann::json meet(const nlohmann::json& payload) = 0;
  // Reports to the parent that it is ready (blocks are left out), then calls `take` for each turn and sends back its result. `take` gets
  // the turn's payload and returns its answer: header {"payload"} and blocks. Returns when no turn is left.
  virtual void take_turns(const nlohmann::json& ready, const std::function<Frame(const nlohmann::json& turn)>& take) = 0;
};

// One meeting of the kind that exchanges texts; returns those of all.
std::vector<std::string> exchange_with_ranks(Turns& turns, const std::string& said);
// The parent's answer to what all said in one meeting, of either kind; `begin` is asked for where they are to begin. Throws Error{internal}
// where not all have come to the same one.
nlohmann::json answer_meeting(const std::vector<nlohmann::json>& said, const std::function<Nanoseconds()>& begin);

// Speaks over a channel. Throws Error{internal} if the parent is gone or breaks the protocol.
class ChannelTurns final : public Turns {
 public:
  ChannelTurns(FrameReader& reader, FrameWriter& writer) : reader_(reader), writer_(writer) {}
  nlohmann::json meet(const nlohmann::json& payload) override;
  void take_turns(const nlohmann::json& ready, const std::function<Frame(const nlohmann::json& turn)>& take) override;

 private:
  Frame hear();

  FrameReader& reader_;
  FrameWriter& writer_;
};

}  // namespace deepgap
