// One order from load to Record: load, first result, check, warm-up, steady window. methodology.md says what each promises.
#pragma once

#include "worker/group.h"
#include "worker/turns.h"

#include <atomic>
#include <optional>

namespace deepgap {

// `turns`: processes that measure together meet before their windows, and the parent answers {"begin": when, on their Clocks}.
// Every failure becomes the Record's outcome; nothing is thrown but what the parent must hear of at once (its channel is gone).
// nullopt: the reference or the QDQ form of the model is not in the cache; the order comes again when they are, or with the reason why
// there can be none.
std::optional<Record> measure(const WorkOrder& order, Group& group, Heartbeat& heartbeat, Turns& turns,
                              const std::atomic<bool>& interrupted);

}  // namespace deepgap
