// A task on a machine that is reached by ssh and shares no disk with this one: `deepgap fleet relay FOLDER HOST TASK`, started by the
// scheduler `ssh` and ended with it.
//
// It copies what the task needs (the bundle once), starts it there, fetches what it hands in every few seconds, and ends as it ended. A
// task whose relay was killed goes on there until its end; what it handed in is fetched by the next one, which waits for it by a lock on
// that host.
#pragma once

#include "fleet/fleet.h"

#include <string>

namespace deepgap {

int relay_task(const Fleet& fleet, const std::string& host, int task);

}  // namespace deepgap
